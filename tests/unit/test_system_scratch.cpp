// Temporary files: which names are a run's own, the lock that excludes other runs, and the guardian that
// deletes them when the run was killed.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "system/guardian.h"
#include "system/scratch_files.h"
#include "system/scratch_lock.h"
#include "system/sleep.h"
#include "temporary.h"

using namespace openimb::system;
using namespace openimb::testing;
using State = ScratchLock::State;
namespace fs = std::filesystem;

namespace {

std::set<std::string> names(const std::vector<std::string>& paths) {
  std::set<std::string> result;
  for (const std::string& path : paths) result.insert(fs::path(path).filename().string());
  return result;
}

}  // namespace

TEST_CASE("the names of a run's own files") {
  const Folder folder;
  const std::set<std::string> own = {"IMB_out",
                                     "IMB_out_0",
                                     "IMB_out_17",
                                     "IMB_out_g0",
                                     "IMB_out_g12_3",
                                     "IMB_out.shfp.3",
                                     "IMB_out.shfp.1.2",
                                     ".IMB_out.shfp.12",
                                     "IMB_out-12.lock",
                                     "IMB_out_g0_cid-1-2.sm",
                                     "IMB_out.data.1",
                                     "IMB_out_4.data.1",
                                     "IMB_out.metadata.0",
                                     "IMB_out.locktest.0"};
  const std::set<std::string> foreign = {"IMB_output", "IMB_out.bak", "IMB_out_x",        "IMB_out_",
                                         "IMB_out_g",  "IMB_out_g1x", "IMB_out_1_2",      ".IMB_outer",
                                         "MY_IMB_out", "imb_out",     "IMB_out.txt",      "IMB_out.data",
                                         "IMB_out.2",  "IMB_out.2_1", ".IMB_out.imb-lock"};
  for (const std::string& name : own) folder.file(name);
  for (const std::string& name : foreign) folder.file(name, "a thesis");
  fs::create_directory(folder.path() / "IMB_out_7");
  CHECK(names(scratch_files(folder / "IMB_out")) == own);
  CHECK(names(scratch_files(folder / "IMB_out.2")) == std::set<std::string>{"IMB_out.2", "IMB_out.2_1"});

  delete_scratch_files(folder / "IMB_out");
  CHECK(scratch_files(folder / "IMB_out").empty());
  for (const std::string& name : foreign) {
    INFO(name);
    CHECK(text_in(folder / name) == "a thesis");
  }
  CHECK(folder.has("IMB_out_7"));
}

TEST_CASE("hidden files of a run whose name is hidden") {
  const Folder folder;
  for (const char* name : {".out", ".out_0", ".out_g1_2"}) folder.file(name);
  folder.file("out");
  CHECK(names(scratch_files(folder / ".out")) == std::set<std::string>{".out", ".out_0", ".out_g1_2"});
}

TEST_CASE("whether a path leads to one of a run's own files") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  for (const char* name : {"IMB_out", "./IMB_out", "IMB_out_3", "IMB_out_g0", "IMB_out_g12_3",
                           ".IMB_out.shfp.12", "IMB_out-12.lock", ".IMB_out.imb-lock"}) {
    INFO(name);
    CHECK(is_scratch_file(base, folder / name, false));
    CHECK(is_scratch_file(base, folder / name, true));
    folder.file(name);
    CHECK(is_scratch_file(base, folder / name, false));  // it exists
  }
  for (const char* name : {"IMB_out.2", "IMB_out.17_3", ".IMB_out.2.imb-lock"}) {
    INFO(name);
    CHECK_FALSE(is_scratch_file(base, folder / name, false));
    CHECK(is_scratch_file(base, folder / name, true));
  }
  for (const char* name : {"IMB_output", "IMB_out.txt", "imb_out", "other", "IMB_out_x", "missing/IMB_out"}) {
    INFO(name);
    CHECK_FALSE(is_scratch_file(base, folder / name, true));
  }

  SECTION("through links") {
    fs::create_directory_symlink(folder.path(), folder.path() / "here");
    CHECK(is_scratch_file(base, folder / "here/IMB_out", false));
    CHECK(is_scratch_file(folder / "here/IMB_out", folder / "IMB_out_0", false));
    fs::create_symlink("IMB_out_9", folder.path() / "dangling");
    fs::create_symlink("dangling", folder.path() / "second");
    CHECK(is_scratch_file(base, folder / "second", false));
    fs::create_symlink(folder.file("mine"), folder.path() / "IMB_out_8");  // the link would be deleted
    CHECK(is_scratch_file(base, folder / "IMB_out_8", false));
    CHECK_FALSE(is_scratch_file(base, folder / "mine", false));
  }
}

TEST_CASE("characters of a pattern in a name stand for themselves") {
  const Folder folder;
  folder.file("a+b(1).*_0");
  folder.file("aab1xx_0");
  CHECK(names(scratch_files(folder / "a+b(1).*")) == std::set<std::string>{"a+b(1).*_0"});
}

TEST_CASE("a link is deleted, its target is not") {
  const Folder folder;
  folder.file("thesis", "long");
  fs::create_symlink("thesis", folder.path() / "IMB_out");
  fs::create_symlink("nowhere", folder.path() / "IMB_out_1");
  delete_scratch_files(folder / "IMB_out");
  CHECK_FALSE(fs::exists(fs::symlink_status(folder.path() / "IMB_out")));
  CHECK_FALSE(fs::exists(fs::symlink_status(folder.path() / "IMB_out_1")));
  CHECK(text_in(folder / "thesis") == "long");
}

TEST_CASE("a folder that does not exist has no files") {
  const Folder folder;
  CHECK(scratch_files(folder / "missing/IMB_out").empty());
  delete_scratch_files(folder / "missing/IMB_out");
}

TEST_CASE("a lock excludes other launches") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  ScratchLock other(base, "other");
  {
    ScratchLock lock(base, "mine");
    CHECK(lock.take() == State::held);
    CHECK(lock.take() == State::held);
    CHECK_FALSE(lock.was_abandoned());
    CHECK(text_in(lock_file_of(base)) == "mine\n");
    CHECK(other.take() == State::busy);
    CHECK(ScratchLock(base, "mine").take() == State::shared);
    CHECK(ScratchLock(folder / "IMB_out.2", "other").take() == State::held);
  }
  CHECK_FALSE(fs::exists(lock_file_of(base)));
  CHECK(other.take() == State::held);
  CHECK_FALSE(other.was_abandoned());
}

TEST_CASE("a token that begins like another is another") {
  const Folder folder;
  ScratchLock lock(folder / "IMB_out", "host 12");
  REQUIRE(lock.take() == State::held);
  CHECK(ScratchLock(folder / "IMB_out", "host 1").take() == State::busy);
  CHECK(ScratchLock(folder / "IMB_out", "host 123").take() == State::busy);
}

TEST_CASE("a lock whose launch is being cleaned up is worth waiting for") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  ScratchLock other(base, "other");
  {
    ScratchLock lock(base, "mine");
    REQUIRE(lock.take() == State::held);
    lock.mark_cleaning();
    CHECK(other.take() == State::cleaning);
    CHECK(ScratchLock(base, "mine").take() == State::shared);
  }
  CHECK(other.take() == State::held);
}

TEST_CASE("a lock that was not taken leaves another's file alone") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  ScratchLock lock(base, "mine");
  REQUIRE(lock.take() == State::held);
  {
    ScratchLock other(base, "other");
    REQUIRE(other.take() == State::busy);
    other.mark_cleaning();
  }
  CHECK(text_in(lock_file_of(base)) == "mine\n");
}

TEST_CASE("a lock of a process that was killed is free, and known as abandoned") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  const pid_t child = forked([&] {
    ScratchLock lock(base, "killed");
    if (lock.take() != State::held) return 1;
    folder.file("locked");
    pause_for(60);
    return 2;
  });
  REQUIRE(soon([&] { return folder.has("locked"); }));
  ScratchLock lock(base, "mine");
  CHECK(lock.take() == State::busy);
  kill(child, SIGKILL);
  CHECK(status_of(child) == 1000 + SIGKILL);
  CHECK(fs::exists(lock_file_of(base)));
  CHECK(lock.take() == State::held);
  CHECK(lock.was_abandoned());
  CHECK(text_in(lock_file_of(base)) == "mine\n");
}

TEST_CASE("where no lock file can be made nothing is excluded") {
  const Folder folder;
  CHECK(ScratchLock(folder / "missing/IMB_out", "mine").take() == State::none);
  // A link of that name is not followed.
  folder.file("thesis", "long");
  fs::create_symlink("thesis", lock_file_of(folder / "IMB_out"));
  CHECK(ScratchLock(folder / "IMB_out", "mine").take() == State::none);
  CHECK(text_in(folder / "thesis") == "long");
}

TEST_CASE("tokens of launches differ") {
  const std::string first = launch_token();
  CHECK_FALSE(first.empty());
  CHECK(first.find('\n') == std::string::npos);
  CHECK(soon([&] { return launch_token() != first; }));
}

TEST_CASE("a guardian that is dismissed deletes no files and leaves no lock") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  {
    const Guardian guardian;
    CHECK(guardian.reserve(base, "mine"));
    CHECK(fs::exists(lock_file_of(base)));
    folder.file("IMB_out_0", "kept");
  }
  CHECK(text_in(folder / "IMB_out_0") == "kept");
  CHECK_FALSE(fs::exists(lock_file_of(base)));
}

TEST_CASE("a guardian without anything to watch ends at once") {
  {
    const Guardian guardian;
  }
  const Guardian again;
}

TEST_CASE("two launches cannot reserve one path") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  const Guardian first, second;
  CHECK(first.reserve(base, "first"));
  CHECK_FALSE(second.reserve(base, "second"));
  CHECK(second.reserve(folder / "IMB_out.2", "second"));
  SECTION("guardians of one launch on several hosts share it") {
    const Guardian same;
    CHECK(same.reserve(base, "first"));
    same.release();
    CHECK(fs::exists(lock_file_of(base)));
  }
  SECTION("what is released is free") {
    first.release();
    CHECK_FALSE(fs::exists(lock_file_of(base)));
    const Guardian third;
    CHECK(third.reserve(base, "third"));
  }
}

TEST_CASE("a name of ours is not taken where a user has files of that name") {
  const Folder folder;
  const std::string base = folder / "IMB_out.2";
  const Guardian guardian;
  folder.file("IMB_out.2_0", "of a user");
  CHECK_FALSE(guardian.reserve(base, "mine", true));
  CHECK_FALSE(fs::exists(lock_file_of(base)));
  fs::remove(folder / "IMB_out.2_0");
  CHECK(guardian.reserve(base, "mine", true));
}

namespace {

/// A launch that reserves, makes files, and waits to be killed.
pid_t launch_with_files(const Folder& folder, const std::string& token) {
  const pid_t child = forked([&] {
    const Guardian guardian;
    if (!guardian.reserve(folder / "IMB_out", token)) return 1;
    folder.file("IMB_out_0", token);
    folder.file("IMB_out.shfp.1", token);
    folder.file("ready-" + token);
    pause_for(60);
    return 2;
  });
  REQUIRE(soon([&] { return folder.has("ready-" + token); }));
  return child;
}

}  // namespace

TEST_CASE("the files of a killed launch are deleted") {
  const Folder folder;
  folder.file("IMB_out.txt", "a thesis");
  const pid_t launch = launch_with_files(folder, "killed");
  kill(launch, SIGKILL);
  CHECK(status_of(launch) == 1000 + SIGKILL);
  CHECK(soon([&] { return scratch_files(folder / "IMB_out").empty(); }));
  // So are files that another rank creates a little later.
  folder.file("IMB_out_1");
  CHECK(soon([&] { return !folder.has("IMB_out_1"); }));
  CHECK(soon([&] { return !fs::exists(lock_file_of(folder / "IMB_out")); }));
  CHECK(text_in(folder / "IMB_out.txt") == "a thesis");
}

TEST_CASE("the guardian of a killed launch does not delete the files of the next") {
  const Folder folder;
  const pid_t launch = launch_with_files(folder, "killed");
  kill(launch, SIGKILL);
  CHECK(status_of(launch) == 1000 + SIGKILL);
  const Guardian guardian;
  REQUIRE(soon([&] { return guardian.reserve(folder / "IMB_out", "next"); }));
  CHECK(scratch_files(folder / "IMB_out").empty());
  folder.file("IMB_out_0", "next");
  pause_for(0.5);  // more than two of a guardian's rounds
  CHECK(text_in(folder / "IMB_out_0") == "next");
  CHECK(text_in(lock_file_of(folder / "IMB_out")) == "next\n");
}

TEST_CASE("what was abandoned under names with a number is deleted, what is in use is not") {
  const Folder folder;
  const std::string base = folder / "IMB_out";
  const auto abandon = [&](const std::string& name) {
    const pid_t child = forked([&] {
      static ScratchLock lock(folder / name, "killed");
      return lock.take() == State::held ? 0 : 1;  // _exit: no destructor runs
    });
    REQUIRE(status_of(child) == 0);
    folder.file(name + "_0", "left");
  };
  abandon("IMB_out.2");
  abandon("IMB_out.7");
  const Guardian guardian;
  REQUIRE(guardian.reserve(folder / "IMB_out.3", "alive"));
  folder.file("IMB_out.3_0", "in use");
  folder.file("IMB_out.4", "of a user");
  delete_abandoned(base);
  CHECK_FALSE(folder.has("IMB_out.2_0"));
  CHECK_FALSE(folder.has("IMB_out.7_0"));
  CHECK_FALSE(fs::exists(lock_file_of(folder / "IMB_out.2")));
  CHECK(text_in(folder / "IMB_out.3_0") == "in use");
  CHECK(text_in(folder / "IMB_out.4") == "of a user");
}
