// File systems and the identity of files.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "system/storage.h"
#include "temporary.h"

using namespace openimb::system;
using openimb::testing::Folder;
namespace fs = std::filesystem;

TEST_CASE("free space of a folder") {
  const Folder folder;
  CHECK(free_bytes(folder.path().string()) > 0);
  CHECK(free_bytes(folder.path().string()) < std::numeric_limits<std::int64_t>::max());
  // If the free space is unknown, points must run.
  CHECK(free_bytes(folder / "missing") == std::numeric_limits<std::int64_t>::max());
}

#ifdef __linux__
TEST_CASE("the type of a file system comes from the innermost mount point") {
  const Folder folder;
  CHECK(file_system_type("/proc") == "proc");
  CHECK(file_system_type("/proc/self") == "proc");
  CHECK_FALSE(file_system_type("/").empty());
  CHECK_FALSE(file_system_type(folder.path().string()).empty());
  fs::create_directory_symlink("/proc", folder.path() / "link");
  CHECK(file_system_type(folder / "link") == "proc");
}
#endif

TEST_CASE("the reason why files cannot be created in a folder") {
  const Folder folder;
  CHECK(write_error(folder.path().string()).empty());
  CHECK(write_error(folder / "missing") == "no such folder");
  CHECK(write_error(folder.file("file")) == "not a folder");
  if (geteuid() != 0) {
    fs::create_directory(folder.path() / "fixed");
    fs::permissions(folder.path() / "fixed", fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(write_error(folder / "fixed") == "Permission denied");
    fs::permissions(folder.path() / "fixed", fs::perms::owner_all);
  }
}

TEST_CASE("one file under two names") {
  const Folder folder;
  const std::string file = folder.file("file", "text");
  const std::string other = folder.file("other", "text");
  CHECK(same_file(file, file));
  CHECK_FALSE(same_file(file, other));

  SECTION("through the folder") {
    fs::create_directory(folder.path() / "sub");
    CHECK(same_file(file, folder / "sub/../file"));
    CHECK(same_file(file, folder / "./file"));
    fs::create_directory_symlink(folder.path(), folder.path() / "here");
    CHECK(same_file(file, folder / "here/file"));
    CHECK_FALSE(same_file(file, folder / "here/other"));
  }
  SECTION("through a symbolic link") {
    fs::create_symlink("file", folder.path() / "relative");
    fs::create_symlink(file, folder.path() / "absolute");
    fs::create_symlink("relative", folder.path() / "second");
    for (const char* name : {"relative", "absolute", "second"}) {
      INFO(name);
      CHECK(same_file(file, folder / name));
      CHECK(same_file(folder / name, file));
      CHECK_FALSE(same_file(folder / name, other));
    }
    CHECK(same_file(folder / "second", folder / "absolute"));
  }
  SECTION("through a hard link") {
    fs::create_hard_link(file, folder.path() / "hard");
    CHECK(same_file(file, folder / "hard"));
    CHECK_FALSE(same_file(other, folder / "hard"));
  }
  SECTION("from the working folder") {
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    CHECK(same_file("file", file));
    CHECK(same_file("./file", "file"));
    CHECK(same_file("new", folder / "new"));
    fs::current_path(before);
  }
}

TEST_CASE("one file that does not exist yet") {
  const Folder folder;
  CHECK(same_file(folder / "new", folder / "new"));
  CHECK(same_file(folder / "new", folder / "./new"));
  CHECK_FALSE(same_file(folder / "new", folder / "newer"));
  CHECK_FALSE(same_file(folder / "new", folder.file("old")));
  fs::create_symlink("new", folder.path() / "dangling");
  CHECK(same_file(folder / "new", folder / "dangling"));
  CHECK(same_file(folder / "dangling", folder / "new"));
  CHECK_FALSE(same_file(folder / "newer", folder / "dangling"));
  fs::create_directory_symlink(folder.path(), folder.path() / "here");
  CHECK(same_file(folder / "new", folder / "here/dangling"));
  CHECK(same_file(folder / "none/new", folder / "none/new"));
  CHECK_FALSE(same_file(folder / "none/new", folder / "never/new"));
}

TEST_CASE("links in a circle do not hang") {
  const Folder folder;
  fs::create_symlink("b", folder.path() / "a");
  fs::create_symlink("a", folder.path() / "b");
  CHECK_FALSE(same_file(folder / "a", folder.file("file")));
  same_file(folder / "a", folder / "b");  // whatever the answer
}
