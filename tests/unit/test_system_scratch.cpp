// Temporary files: a launch deletes its own, and the guardian deletes them if the launch was killed.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <string>

#include "system/guardian.h"
#include "system/scratch_files.h"
#include "system/sleep.h"
#include "temporary.h"

using namespace openimb::system;
using namespace openimb::testing;
namespace fs = std::filesystem;

TEST_CASE("a launch deletes the files whose names begin with its own name") {
  const Folder folder;
  const std::string base = folder / "IMB_out.node1-17-1234";
  const char* const own[] = {"IMB_out.node1-17-1234",          "IMB_out.node1-17-1234_0",
                             "IMB_out.node1-17-1234_g12_3",    ".IMB_out.node1-17-1234.shfp.12",
                             "IMB_out.node1-17-1234-12.lock",  "IMB_out.node1-17-1234_g0_cid-1-2.sm",
                             "IMB_out.node1-17-1234_4.data.1", "IMB_out.node1-17-1234.locktest.0"};
  const char* const foreign[] = {"IMB_out", "IMB_out_0", "IMB_out.node1-17-1233_0",
                                 "my.IMB_out.node1-17-1234", "node1-17-1234"};
  for (const char* name : own) folder.file(name);
  for (const char* name : foreign) folder.file(name, "a thesis");
  CHECK(delete_scratch_files(base) == 8);
  CHECK(delete_scratch_files(base) == 0);
  for (const char* name : own) CHECK_FALSE(folder.has(name));
  for (const char* name : foreign) CHECK(text_in(folder / name) == "a thesis");
}

TEST_CASE("characters of patterns in a name have no special meaning") {
  const Folder folder;
  folder.file("a+b(1).*_0");
  folder.file("aab1xx_0");
  delete_scratch_files(folder / "a+b(1).*");
  CHECK_FALSE(folder.has("a+b(1).*_0"));
  CHECK(folder.has("aab1xx_0"));
}

TEST_CASE("a folder that does not exist has no files") {
  const Folder folder;
  CHECK(delete_scratch_files(folder / "missing/IMB_out") == 0);
}

TEST_CASE("names of launches differ") {
  const std::string first = unique_name();
  CHECK(first.find_first_of("/ \n") == std::string::npos);
  CHECK(becomes_true([&] { return unique_name() != first; }));
}

TEST_CASE("a guardian that is dismissed deletes no files") {
  const Folder folder;
  {
    const Guardian guardian;
    guardian.watch(folder / "IMB_out");
    folder.file("IMB_out_0", "kept");
  }
  CHECK(text_in(folder / "IMB_out_0") == "kept");
}

TEST_CASE("a guardian without anything to watch ends at once") {
  {
    const Guardian guardian;
  }
  const Guardian again;
}

TEST_CASE("the files of a killed launch are deleted") {
  const Folder folder;
  folder.file("IMB_out", "a thesis");
  const pid_t launch = start_child([&] {
    const Guardian guardian;
    guardian.watch(folder / "IMB_out.mine");
    folder.file("IMB_out.mine_0");
    folder.file(".IMB_out.mine.shfp.1");
    folder.file("ready");
    pause_for(60);
    return 2;
  });
  REQUIRE(becomes_true([&] { return folder.has("ready"); }));
  kill(launch, SIGKILL);
  CHECK(wait_for_child(launch) == 1000 + SIGKILL);
  CHECK(becomes_true([&] { return !folder.has("IMB_out.mine_0") && !folder.has(".IMB_out.mine.shfp.1"); }));
  // Files that another rank creates a little later are also deleted.
  folder.file("IMB_out.mine_1");
  CHECK(becomes_true([&] { return !folder.has("IMB_out.mine_1"); }));
  CHECK(text_in(folder / "IMB_out") == "a thesis");
}
