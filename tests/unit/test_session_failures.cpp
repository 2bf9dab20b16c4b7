// What ends a row, a table or a session early. All ranks agree on it, whichever rank had the problem.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "fake_launch.h"

using namespace openimb;
using namespace openimb::fake;
using Lines = std::vector<std::string>;
using Cause = Failure::Cause;

namespace {

constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
constexpr Spec barrier{
    .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};
constexpr Spec absent{.name = "Bcast_c", .unavailable = "this MPI has no large-count calls"};
constexpr Spec writing{.name = "P_Write_Expl",
                       .kind = Kind::parallel_transfer,
                       .access = Access::file,
                       .file = {.use = FileUse::write, .pointer = FilePointer::offset}};
constexpr Spec reading{.name = "P_Read_Expl",
                       .kind = Kind::parallel_transfer,
                       .access = Access::file,
                       .file = {.use = FileUse::read, .pointer = FilePointer::offset}};
constexpr Spec writing_nonblocking{.name = "P_IWrite_Expl",
                                   .kind = Kind::parallel_transfer,
                                   .table = &tables::overlap,
                                   .access = Access::file,
                                   .overlap = Overlap::fixed,
                                   .file = {.use = FileUse::write, .pointer = FilePointer::offset}};

Options three_processes(std::size_t benchmarks) {
  Options options = small_options(benchmarks);
  options.min_processes = 3;
  return options;
}

// Returns the failure of one of three points, and requires that the others have rows.
Failure only_failure(const LaunchResult& outcome) {
  REQUIRE(outcome.failures().size() == 1);
  CHECK(outcome.ending().failed == 1);
  CHECK(outcome.ending().measured == 2);
  CHECK(outcome.ending().state == Ending::State::complete);
  CHECK(outcome.failures()[0].bytes == 8);
  return outcome.failures()[0];
}

}  // namespace

TEST_CASE("one rank without memory: a row on all ranks, and the session goes on") {
  const Spec catalog[] = {bcast};
  Model model;
  const auto has = [](const Table&, const Point& point, int rank) { return point.bytes != 8 || rank != 2; };
  SECTION("known from the table's buffers") { model.has_memory = has; }
  SECTION("found when the point is opened, as for a window") { model.opens = has; }
  const LaunchResult outcome = launch(catalog, three_processes(1), 3, model);
  const Failure failure = only_failure(outcome);
  CHECK(failure.cause == Cause::out_of_memory);
  CHECK(failure.needed_bytes == 16);
  CHECK(outcome.reported_lines() ==
        Lines{"open Bcast 3", "row Bcast 3 0", "failure Bcast 3 8", "row Bcast 3 64", "close Bcast 3"});
}

TEST_CASE("a row without memory names the GPU where messages are on one") {
  const Spec catalog[] = {bcast};
  Model model;
  model.has_memory = [](const Table&, const Point& point, int) { return point.bytes != 8; };
  Options options = three_processes(1);
  const auto detail = [&] { return launch(catalog, options, 3, model).failures().at(0).detail; };
  const std::string of_host = "not enough memory left on the machine";
  const std::string of_gpu = "not enough memory left on the GPU or the machine";
  for (const bool in_passes : {false, true}) {
    if (in_passes) options.passes.emplace().most = 2;
    options.memory = {};
    CHECK(detail() == of_host);
    options.memory.load = LoadPlace::device;
    CHECK(detail() == of_host);
    options.memory.receive = MemoryKind::cuda;
    CHECK(detail() == of_gpu);
  }
  SECTION("the limit set by -mem is one of both") {
    options.settings.max_memory = 20;
    options.lengths = {64};
    CHECK(detail() == "above the limit set by -mem");
  }
}

TEST_CASE("a point beyond -mem opens nothing") {
  const Spec catalog[] = {bcast};
  Options options = three_processes(1);
  options.lengths = {0, 64, 8};
  options.settings.max_memory = 20;
  const LaunchResult outcome = launch(catalog, options, 3, {});
  CHECK(outcome.failures().at(0).cause == Cause::out_of_memory);
  CHECK(outcome.failures().at(0).needed_bytes == 128);
  CHECK(outcome.log(1, {"open"}) == Lines{"open 0", "open 8"});
}

TEST_CASE("no memory for the warm-up message costs no row") {
  const Spec catalog[] = {bcast};
  Options options = three_processes(1);
  options.warm_up = true;
  Model model;
  model.has_memory = [](const Table&, const Point& point, int) { return point.bytes != 4; };
  const LaunchResult outcome = launch(catalog, options, 3, model);
  CHECK(outcome.ending().measured == 3);
  CHECK(outcome.ending().failed == 0);
}

TEST_CASE("a table without a point that can run is not warmed up") {
  const Spec catalog[] = {bcast};
  Options options = three_processes(1);
  options.warm_up = true;
  options.lengths = {64, 128};
  options.settings.max_memory = 20;
  const LaunchResult outcome = launch(catalog, options, 3, {});
  CHECK(outcome.ending().failed == 2);
  CHECK(outcome.log(1, {"open"}).empty());
}

TEST_CASE("a warm-up that cannot be opened is a failure of its table") {
  const Spec catalog[] = {bcast};
  Options options = three_processes(1);
  options.warm_up = true;
  Model model;
  model.opens = [](const Table&, const Point& point, int rank) { return point.bytes != 4 || rank != 1; };
  const LaunchResult outcome = launch(catalog, options, 3, model);
  REQUIRE(outcome.failures().size() == 1);
  CHECK(outcome.failures()[0].cause == Cause::unavailable);
  CHECK(outcome.failures()[0].detail.ends_with("; warm-up failed"));
  CHECK(outcome.ending().measured == 0);
  CHECK(outcome.ending().state == Ending::State::complete);
}

TEST_CASE("a table that cannot run is one failure") {
  const Spec catalog[] = {absent, pingpong, bcast};
  SECTION("because of the MPI") {
    const LaunchResult outcome = launch(catalog, three_processes(3), 3, {});
    CHECK(outcome.failures().at(0).cause == Cause::unavailable);
    CHECK(outcome.failures().at(0).detail == absent.unavailable);
    CHECK(outcome.ending().measured == 6);
  }
  SECTION("because of the number of ranks") {
    const LaunchResult outcome = launch(catalog, small_options(3), 1, {});
    REQUIRE(outcome.failures().size() == 2);
    CHECK(outcome.failures()[1].cause == Cause::invalid_processes);
    CHECK(outcome.rows("Bcast", 1).size() == 3);
  }
  SECTION("because its resources cannot be opened") {
    const Model model{.table_failure = [](const Table& table) -> std::optional<Failure> {
      if (table.spec.name != "PingPong") return std::nullopt;
      return Failure{.cause = Cause::io_error, .detail = "no such folder"};
    }};
    const LaunchResult outcome = launch(catalog, three_processes(3), 3, model);
    const Lines story = outcome.reported_lines();
    CHECK(std::ranges::count(story, "failure PingPong 2 0") == 1);
    CHECK(std::ranges::count(story, "open PingPong 2") == 0);
    CHECK(outcome.rows("Bcast").size() == 3);
  }
}

TEST_CASE("an error on one rank is a failure row that names the rank") {
  const Spec catalog[] = {reading};
  Options options = three_processes(1);
  options.check = true;
  const std::string stage = GENERATE("fill", "prepare", "run", "check", "conclude");
  const Model model{.error = [&](const At& at, const std::string& where) {
    return at.bytes == 8 && at.rank == 1 && where == stage ? "Disk quota exceeded" : std::string();
  }};
  INFO(stage);
  const Failure failure = only_failure(launch(catalog, options, 3, model));
  CHECK(failure.cause == Cause::io_error);
  CHECK(failure.detail == "rank 1: Disk quota exceeded");
}

TEST_CASE("if several ranks have errors, the row has the first rank's error") {
  const Spec catalog[] = {writing};
  const Model model{.error = [&](const At& at, const std::string& where) {
    return at.bytes == 8 && at.rank > 0 && where == "run" ? "rank has " + std::to_string(at.rank) : "";
  }};
  const Failure failure = only_failure(launch(catalog, three_processes(1), 3, model));
  CHECK(failure.detail == "rank 1: rank has 1");
}

TEST_CASE("an error of an overlapped nonblocking write is a failure row") {
  const Spec catalog[] = {writing_nonblocking};
  const Model model{.with_load = [](const At&, const LoadUse&) { return 0.125; },
                    .error =
                        [](const At& at, const std::string& where) {
                          return at.bytes == 8 && at.rank == 2 && where == "run with load" ? "lost" : "";
                        }};
  const Failure failure = only_failure(launch(catalog, three_processes(1), 3, model));
  CHECK(failure.cause == Cause::io_error);
  CHECK(failure.detail == "rank 2: lost");
}

TEST_CASE("only benchmarks that read fill their files") {
  const Spec catalog[] = {writing, reading};
  const LaunchResult outcome = launch(catalog, three_processes(2), 3, {});
  CHECK(std::ranges::count(outcome.calls[2], "fill files") == 3);
  CHECK(outcome.ending().measured == 6);
}

TEST_CASE("a file that does not fit on the disk of one rank is not begun") {
  const Spec catalog[] = {writing};
  const Model model{.free_bytes = [](const Rank& rank) { return rank.rank == 1 ? 31 : 1 << 20; }};
  Options options = three_processes(1);
  options.lengths = {0, 8, 4};
  const LaunchResult outcome = launch(catalog, options, 3, model);
  const Failure failure = only_failure(outcome);
  CHECK(failure.cause == Cause::no_space);
  CHECK(failure.needed_bytes == 4 * 8);  // MSGS_NONAGGR repetitions
  CHECK(failure.free_bytes == 31);
  CHECK(outcome.log(0, {"open"}) == Lines{"open 0", "open 4"});
}

TEST_CASE("files whose size exceeds every number fit nowhere") {
  const Spec catalog[] = {writing};
  Options options = three_processes(1);
  options.settings.policy = IterationPolicy::off;
  options.settings.max_memory = std::int64_t{1} << 62;
  options.lengths = {std::int64_t{1} << 61};
  const Model model{.free_bytes = [](const Rank&) { return std::numeric_limits<std::int64_t>::max(); }};
  const LaunchResult outcome = launch(catalog, options, 3, model);
  REQUIRE(outcome.failures().size() == 1);
  const Failure failure = outcome.failures()[0];
  CHECK(failure.cause == Cause::no_space);
  CHECK(failure.needed_bytes == std::numeric_limits<std::int64_t>::max());
  CHECK(failure.free_bytes == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("files of all groups must fit") {
  const Spec catalog[] = {writing};
  Options options = small_options(1);
  options.min_processes = 2;
  options.multi = Multi::summary;
  options.lengths = {8};
  const Model model{.free_bytes = [](const Rank&) { return 63; }};
  const LaunchResult outcome = launch(catalog, options, 4, model);
  REQUIRE(outcome.failures().size() == 1);
  CHECK(outcome.failures()[0].needed_bytes == 2 * 4 * 8);
  CHECK(outcome.rows("P_Write_Expl", 4).size() == 1);
}

TEST_CASE("benchmarks without files need no disk space") {
  const Spec catalog[] = {bcast};
  const Model model{.free_bytes = [](const Rank&) { return 0; }};
  CHECK(launch(catalog, three_processes(1), 3, model).ending().measured == 3);
}

TEST_CASE("disk space is checked again before nonblocking writes") {
  const Spec catalog[] = {writing_nonblocking};
  // Somebody else fills the disk once this point's blocking part was measured.
  const Model model{.free_bytes = [](const Rank& rank) {
    return std::ranges::count(rank.log, "conclude 4") >= 2 ? 0 : 1 << 20;
  }};
  Model loaded = model;
  loaded.with_load = [](const At&, const LoadUse&) { return 0.125; };
  Options options = three_processes(1);
  options.lengths = {8};
  CHECK(launch(catalog, options, 3, loaded).ending().measured == 1);
  options.lengths = {8, 16};  // the third conclusion is that of the second length
  const LaunchResult outcome = launch(catalog, options, 3, loaded);
  REQUIRE(outcome.failures().size() == 1);
  CHECK(outcome.failures()[0].cause == Cause::no_space);
  CHECK(outcome.failures()[0].bytes == 16);
}

TEST_CASE("a row has the hints that MPI uses") {
  const Spec catalog[] = {writing};
  const Model model{.hints = {{"cb_nodes", "2"}}};
  const auto rows = launch(catalog, three_processes(1), 3, model).rows("P_Write_Expl");
  CHECK(rows.at(0).rows.at(0).hints == Hints{{"cb_nodes", "2"}});
}

TEST_CASE("a request to stop on one rank ends the launch between two points") {
  const Spec catalog[] = {bcast, pingpong};
  const Model model{.stop = [](const Rank& rank) { return rank.rank == 3 && rank.batches == 2; }};
  const LaunchResult outcome = launch(catalog, small_options(2), 4, model);
  CHECK(outcome.reported_lines() == Lines{"open Bcast 2", "row Bcast 2 0", "row Bcast 2 8", "close Bcast 2"});
  CHECK(outcome.ending().state == Ending::State::interrupted);
  CHECK(outcome.ending().reason == "as rank sees it: 0");
  CHECK(outcome.ending().measured == 2);
  // Rank 3 was idle, and closed the table with the others.
  CHECK(outcome.calls[3].back() == "close table Bcast 2");
}

TEST_CASE("a request before the first table opens none") {
  const Spec catalog[] = {bcast};
  const LaunchResult outcome =
      launch(catalog, small_options(1), 2, {.stop = [](const Rank& rank) { return rank.rank == 1; }});
  CHECK(outcome.reported.empty());
  CHECK(outcome.calls[0] == Lines{"largest"});
  CHECK(outcome.ending().state == Ending::State::interrupted);
}

TEST_CASE("a request after the last point interrupts nothing") {
  const Spec catalog[] = {barrier};
  const Model model{.stop = [](const Rank& rank) { return rank.batches == 1; }};
  const LaunchResult outcome = launch(catalog, small_options(1), 2, model);
  CHECK(outcome.ending().state == Ending::State::complete);
  CHECK(outcome.ending().measured == 1);
}

TEST_CASE("a point that fails while a stop is requested still has its failure row") {
  const Spec catalog[] = {bcast};
  const Model model{.seconds = [](const At& at) { return at.bytes == 8 ? 11.0 : 0x1p-10; },
                    .stop = [](const Rank& rank) { return rank.batches == 2; }};
  const LaunchResult outcome = launch(catalog, three_processes(1), 3, model);
  CHECK(outcome.reported_lines() ==
        Lines{"open Bcast 3", "row Bcast 3 0", "failure Bcast 3 8", "close Bcast 3"});
  CHECK(outcome.ending().state == Ending::State::interrupted);
  CHECK(outcome.ending().failed == 1);
}
