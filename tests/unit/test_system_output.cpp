// Output files: contents that stay until all files are open, complete lines, closed standard streams.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "system/output_file.h"
#include "temporary.h"

using namespace openimb::system;
using namespace openimb::testing;
namespace fs = std::filesystem;

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// Limits the size of this process's files. Only for child processes.
void limit_files(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace

TEST_CASE("an output file keeps its contents until it is emptied") {
  const Folder folder;
  const std::string path = folder.file("out", "before");
  const File file(open_output(path));
  REQUIRE(file);
  CHECK(text_in(path) == "before");
  CHECK(empty_file(file.get()));
  CHECK(text_in(path).empty());
  std::fputs("after", file.get());
  std::fflush(file.get());
  CHECK(text_in(path) == "after");
}

TEST_CASE("an output file is created") {
  const Folder folder;
  const File file(open_output(folder / "new"));
  CHECK(file);
  CHECK(folder.has("new"));
}

TEST_CASE("an output file that cannot be opened says why") {
  const Folder folder;
  errno = 0;
  CHECK(open_output(folder / "missing/out") == nullptr);
  CHECK(errno == ENOENT);
  errno = 0;
  CHECK(open_output(folder.path().string()) == nullptr);
  CHECK(errno == EISDIR);
}

TEST_CASE("two streams may be open on one file") {
  const Folder folder;
  const File first(open_output(folder / "x")), other(open_output(folder / "y"));
  fs::create_hard_link(folder / "x", folder.path() / "hard");
  const File second(open_output(folder / "hard"));
  CHECK(are_one_file(first.get(), second.get()));
  CHECK_FALSE(are_one_file(first.get(), other.get()));
  const File null(open_output("/dev/null")), again(open_output("/dev/null"));
  CHECK_FALSE(are_one_file(null.get(), again.get()));  // nothing to lose
}

TEST_CASE("a device can be written to and is not emptied") {
  const File null(open_output("/dev/null"));
  REQUIRE(null);
  CHECK(empty_file(null.get()));
  CHECK_FALSE(truncate_file(null.get(), 0));
}

TEST_CASE("a pipe has no position and cannot be truncated") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const File out(fdopen(ends[1], "w"));
  CHECK(file_position(out.get()) < 0);
  CHECK_FALSE(truncate_file(out.get(), 0));
  CHECK(write_all(ends[1], "abc", 3));
  char text[4] = "";
  CHECK(read(ends[0], text, 3) == 3);
  CHECK(std::string(text) == "abc");
  close(ends[0]);
}

TEST_CASE("a file is truncated and continued") {
  const Folder folder;
  const File file(open_output(folder / "out"));
  REQUIRE(file);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);
  std::fputs("line 1\n", file.get());
  const long long whole = file_position(file.get());
  CHECK(whole == 7);
  std::fputs("line 2, to", file.get());
  CHECK(truncate_file(file.get(), whole));
  CHECK(text_in(folder / "out") == "line 1\n");
  std::fputs("line 3\n", file.get());
  CHECK(text_in(folder / "out") == "line 1\nline 3\n");
  CHECK_FALSE(truncate_file(file.get(), -1));
}

TEST_CASE("a text that does not fit is not written at all") {
  const Folder folder;
  const std::string path = folder.file("out");
  const pid_t child = start_child([&] {
    limit_files(10);
    const int out = open(path.c_str(), O_WRONLY);
    if (!write_all(out, "12345\n", 6)) return 1;
    if (write_all(out, "6789012\n", 8)) return 2;
    if (!write_all(out, "678\n", 4)) return 3;
    return write_all(out, "x", 1) ? 4 : 0;
  });
  CHECK(wait_for_child(child) == 0);
  CHECK(text_in(path) == "12345\n678\n");
}

TEST_CASE("a descriptor that is closed cannot be written to") { CHECK_FALSE(write_all(-1, "x", 1)); }

TEST_CASE("closed standard streams are opened, so that no other file gets their numbers") {
  const Folder folder;
  const std::string path = folder.file("next");
  for (const int closed : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    INFO(closed);
    const pid_t child = start_child([&] {
      close(closed);
      occupy_standard_streams();
      const int next = open(path.c_str(), O_RDWR);
      if (next <= STDERR_FILENO) return 1;
      errno = 0;
      if (closed == STDOUT_FILENO && (write(closed, "x", 1) >= 0 || errno != EBADF)) return 2;
      char byte = 0;
      if (closed == STDIN_FILENO && (read(closed, &byte, 1) >= 0 || errno != EBADF)) return 3;
      return closed == STDERR_FILENO && write(closed, "x", 1) != 1 ? 4 : 0;
    });
    CHECK(wait_for_child(child) == 0);
  }
}

TEST_CASE("all three streams may be closed, and open ones do not change") {
  const Folder folder;
  const std::string path = folder.file("out");
  const pid_t child = start_child([&] {
    for (const int stream : {0, 1, 2}) close(stream);
    occupy_standard_streams();
    for (const int stream : {0, 1, 2}) {
      if (fcntl(stream, F_GETFD) < 0) return 1;
    }
    const int out = open(path.c_str(), O_WRONLY);
    dup2(out, STDOUT_FILENO);
    occupy_standard_streams();
    return write(STDOUT_FILENO, "kept", 4) == 4 ? 0 : 2;
  });
  CHECK(wait_for_child(child) == 0);
  CHECK(text_in(path) == "kept");
}
