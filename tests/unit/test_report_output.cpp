// Failing writes: one message, complete lines, and later writes that succeed again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <sstream>
#include <string>

#include "plan/groups.h"
#include "report/output.h"
#include "report/records.h"
#include "report/tee.h"
#include "report/text.h"
#include "temporary.h"

using namespace openimb;
using namespace openimb::testing;

namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

/// Returns what `use` prints on standard error.
std::string errors_of(const std::function<void()>& use) {
  const Folder folder;
  const std::string path = folder.file("errors");
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY);
  dup2(file, STDERR_FILENO);
  use();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(file);
  close(before);
  return text_in(path);
}

/// A file on a disk of limited size. A write stops where the disk is full, as write(2) does.
class SmallDisk {
 public:
  explicit SmallDisk(std::size_t size) : size_(size) {
    cookie_io_functions_t functions{};
    functions.write = [](void* cookie, const char* text, std::size_t length) -> ssize_t {
      return static_cast<SmallDisk*>(cookie)->add(text, length);
    };
    file_.reset(fopencookie(this, "w", functions));
    current = this;
  }
  std::FILE* file() const { return file_.get(); }
  const std::string& text() const { return text_; }
  void grow(std::size_t bytes) { size_ += bytes; }

  static long long position(std::FILE*) { return static_cast<long long>(current->text_.size()); }
  static bool truncate(std::FILE*, long long position) {
    current->text_.resize(static_cast<std::size_t>(position));
    return true;
  }
  static constexpr LineFile lines{position, truncate};

 private:
  ssize_t add(const char* text, std::size_t length) {
    const std::size_t room = size_ - text_.size();
    if (room < length) errno = ENOSPC;
    text_.append(text, std::min(room, length));
    return static_cast<ssize_t>(std::min(room, length));
  }

  static SmallDisk* current;
  std::size_t size_;
  std::string text_;
  File file_;
};
SmallDisk* SmallDisk::current = nullptr;

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer};
Table table() { return {.spec = pingpong, .grouping = make_grouping(2, 2, false, {}), .multi = Multi::off}; }
Measurement measurement(std::int64_t bytes) {
  Measurement made{.bytes = bytes, .repetitions = 2, .rows = {}};
  Row row;
  row.repetition_seconds = {1e-6, 2e-6};
  made.rows.push_back(row);
  return made;
}

bool all_complete(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("{\"record\":") || !line.ends_with("}")) return false;
  }
  return text.empty() || text.ends_with("\n");
}

}  // namespace

TEST_CASE("a failing write causes one message, even if it fails again") {
  const File full(std::fopen("/dev/full", "w"));
  REQUIRE(full);
  bool ok = true;
  const OutputName name{.program = "IMB-RMA", .name = "standard output"};
  const std::string errors = errors_of([&] {
    for (int i = 0; i < 3; ++i) write_and_flush(full.get(), "text", name, ok);
  });
  CHECK(errors == "IMB-RMA: cannot write standard output: No space left on device\n");
  CHECK_FALSE(ok);
}

TEST_CASE("a write that succeeds prints no message") {
  const Folder folder;
  const File file(std::fopen((folder / "out").c_str(), "w"));
  bool ok = true;
  CHECK(errors_of([&] { write_and_flush(file.get(), "text\n", {}, ok); }).empty());
  CHECK(ok);
  CHECK(text_in(folder / "out") == "text\n");
}

TEST_CASE("lines are written completely or not at all") {
  SmallDisk disk(20);
  LineOutput out(disk.file(), "run.jsonl", SmallDisk::lines);
  out.set_program("IMB-IO");
  const std::string errors = errors_of([&] {
    out.write("0123456789\n");
    CHECK(out.ok());
    out.write("0123456789\n");
    out.write("short\n");
    out.write("a line that does not fit\n");
  });
  CHECK_FALSE(out.ok());
  CHECK(disk.text() == "0123456789\nshort\n");
  CHECK(errors == "IMB-IO: cannot write \"run.jsonl\": No space left on device\n");
  disk.grow(100);
  out.write("there is space again\n");
  CHECK(disk.text() == "0123456789\nshort\nthere is space again\n");
  CHECK_FALSE(out.ok());  // something is missing
}

TEST_CASE("if a file cannot be truncated, nothing else is lost") {
  SmallDisk disk(15);
  LineOutput out(disk.file(), "pipe", {});
  errors_of([&] {
    out.write("0123456789\n");
    out.write("0123456789\n");
  });
  CHECK(disk.text() == "0123456789\n0123");
  disk.grow(100);
  out.write("next\n");
  CHECK(disk.text() == "0123456789\n0123next\n");
}

TEST_CASE("records are complete lines on a disk of any size") {
  std::string complete;
  {
    SmallDisk disk(1 << 20);
    RecordReporter reporter(disk.file(), "run.jsonl", {}, SmallDisk::lines);
    for (int i = 0; i < 3; ++i) reporter.row(table(), measurement(i));
    reporter.failure(table(), {.cause = Failure::Cause::time_out, .bytes = 4, .detail = "too long"});
    reporter.end({});
    CHECK(reporter.ok());
    complete = disk.text();
  }
  REQUIRE(all_complete(complete));
  for (std::size_t size = 0; size < complete.size(); size += 37) {
    SmallDisk disk(size);
    RecordReporter reporter(disk.file(), "run.jsonl", {}, SmallDisk::lines);
    const std::string errors = errors_of([&] {
      for (int i = 0; i < 3; ++i) reporter.row(table(), measurement(i));
      reporter.failure(table(), {.cause = Failure::Cause::time_out, .bytes = 4, .detail = "too long"});
      reporter.end({});
    });
    INFO(size);
    CHECK_FALSE(reporter.ok());
    CHECK(all_complete(disk.text()));
    CHECK(errors == "IMB: cannot write \"run.jsonl\": No space left on device\n");
  }
}

TEST_CASE("messages name the executable once it is known") {
  RunFacts facts;
  facts.component = "EXT";
  const auto message = [&](auto&& make) {
    const File full(std::fopen("/dev/full", "w"));
    return errors_of([&] {
      const auto reporter = make(full.get());
      reporter->begin(facts, {});
      reporter->row(table(), measurement(8));
    });
  };
  const std::string why = ": No space left on device\n";
  CHECK(message([](std::FILE* out) {
          return std::make_unique<RecordReporter>(out, "a", OptionsInForce{});
        }) == "IMB-EXT: cannot write \"a\"" + why);
  CHECK(message([](std::FILE* out) { return std::make_unique<DumpReporter>(out, "b"); }) ==
        "IMB-EXT: cannot write \"b\"" + why);
  CHECK(message([](std::FILE* out) { return std::make_unique<TextReporter>(out, StatedOptions{}); }) ==
        "IMB-EXT: cannot write standard output" + why);
}

TEST_CASE("a tee closes tables everywhere, and one bad output does not hide the others") {
  SmallDisk disk(1 << 20);
  const File full(std::fopen("/dev/full", "w"));
  Tee tee;
  tee.add(std::make_unique<RecordReporter>(full.get(), "full", OptionsInForce{}));
  tee.add(std::make_unique<TextReporter>(disk.file(), StatedOptions{}));
  CHECK(tee.ok());
  Measurement drifted = measurement(8);
  drifted.rows.front()[Figure::load_drift] = 0.5;
  errors_of([&] {
    tee.open_table(table());
    tee.row(table(), drifted);
    tee.close_table(table());
  });
  CHECK_FALSE(tee.ok());
  CHECK(disk.text().ends_with("t_CPU and overlap of this row are unreliable\n"));
}

TEST_CASE("the record of an abort is valid and contains its reason once") {
  Ending ending;
  ending.state = Ending::State::aborted;
  ending.reason = "REASON";
  ending.measured = 3;
  const std::string line = end_record(ending);
  CHECK(line.find("\"state\":\"aborted\",\"reason\":\"REASON\",\"measured\":3") != std::string::npos);
  CHECK(line.find("REASON") == line.rfind("REASON"));
  CHECK(line.size() <= 512 - 200);  // room for the reason in the handler's buffer
}
