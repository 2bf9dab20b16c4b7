// Rows that are measured more than once: with computation, while the target computes, and in segments that
// alternate with another launch's.
#include <algorithm>
#include <catch2/catch.hpp>

#include "fake_launch.h"

using namespace openimb;
using namespace openimb::fake;
using Lines = std::vector<std::string>;

namespace {

constexpr double tick = 0x1p-10;  // one unit of load

constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec allreduce{.name = "Allreduce", .reduction = true};
constexpr Spec ibcast{
    .name = "Ibcast", .table = &tables::overlap, .rooted = true, .overlap = Overlap::matched};
constexpr Spec ibarrier{.name = "Ibarrier",
                        .kind = Kind::synchronization,
                        .table = &tables::overlap,
                        .send = Messages::none,
                        .receive = Messages::none,
                        .overlap = Overlap::matched};
constexpr Spec iwrite{.name = "S_IWrite_Expl",
                      .kind = Kind::single_transfer,
                      .table = &tables::overlap,
                      .access = Access::file,
                      .overlap = Overlap::fixed,
                      .file = {.use = FileUse::write, .pointer = FilePointer::offset}};
constexpr Spec passive{.name = "Truly_passive_put",
                       .kind = Kind::single_transfer,
                       .table = &tables::passive,
                       .access = Access::passive_target,
                       .one_sided = {.exposed = ExposedBuffer::receive, .computing_target = true}};

// Rank r transfers for r + 1 ticks and hides one tick of the load.
Model model_hiding_a_tick() {
  Model model;
  model.seconds = [](const At& at) { return (at.rank + 1) * tick; };
  model.computing = [](const At&, const LoadUse& load) { return static_cast<double>(load.units) * tick; };
  model.with_load = [](const At& at, const LoadUse& load) {
    return (at.rank + 1) * tick + static_cast<double>(load.units) * tick - tick;
  };
  return model;
}

Options one_length() {
  Options options = small_options(1);
  options.lengths = {64};
  return options;
}

Options alternating(int parts) {
  Options options = one_length();
  options.settings.repetitions = 24;
  options.interleaving = Interleaving{.segments = parts, .host = {}, .port = {}, .token = {}};
  return options;
}

}  // namespace

TEST_CASE("a matched load lasts as long as the slowest rank of the group took without it") {
  const Spec catalog[] = {ibcast};
  const LaunchResult outcome = launch(catalog, one_length(), 3, model_hiding_a_tick());
  const Row row = outcome.rows("Ibcast", 3).at(0).rows.at(0);
  CHECK(row[Figure::time_max] == 3 * tick);
  CHECK(row[Figure::time_pure] == 3 * tick);
  CHECK(row[Figure::time_cpu] == 3 * tick);
  CHECK(row[Figure::time_overlapped] == 5 * tick);
  CHECK(row[Figure::overlap_percent] == Approx(100.0 / 3));
  CHECK(row[Figure::load_drift] == 0.0);
  CHECK(outcome.log(0, {"run", "conclude"}) == Lines{"run 1", "run 8", "conclude 8", "run with load 8",
                                                     "conclude 8", "run 1", "run 8", "conclude 8",
                                                     "run with load 8", "conclude 8"});
}

TEST_CASE("each group has its own load") {
  const Spec catalog[] = {ibcast};
  Options options = one_length();
  options.multi = Multi::each_group;
  const auto rows = launch(catalog, options, 5, model_hiding_a_tick()).rows("Ibcast", 2);
  REQUIRE(rows.at(0).rows.size() == 2);
  CHECK(rows[0].rows[0][Figure::time_cpu] == 2 * tick);
  CHECK(rows[0].rows[0][Figure::time_overlapped] == 3 * tick);
  CHECK(rows[0].rows[1][Figure::time_cpu] == 4 * tick);
  CHECK(rows[0].rows[1][Figure::time_overlapped] == 7 * tick);
}

TEST_CASE("an overlapping synchronization has one row") {
  const Spec catalog[] = {ibarrier};
  const LaunchResult outcome = launch(catalog, one_length(), 2, model_hiding_a_tick());
  REQUIRE(outcome.rows("Ibarrier").size() == 1);
  CHECK(outcome.rows("Ibarrier")[0].rows.at(0)[Figure::time_overlapped] == 3 * tick);
}

TEST_CASE("a fixed load lasts TARGET_CPU_SECS, and t_CPU is its calibrated time") {
  const Spec catalog[] = {iwrite};
  Options options = one_length();
  options.min_processes = 1;
  options.settings.target_cpu_seconds = 16 * tick;
  Model model = model_hiding_a_tick();
  model.computing = [](const At&, const LoadUse&) { return 1000.0; };  // slowed down by the transfer
  const Row row = launch(catalog, options, 2, model).rows("S_IWrite_Expl").at(0).rows.at(0);
  CHECK(row[Figure::time_pure] == tick);
  CHECK(row[Figure::time_cpu] == 16 * tick);
  CHECK(row[Figure::time_overlapped] == 16 * tick);
  CHECK(row[Figure::overlap_percent] == 100);
}

TEST_CASE("a fixed load counts for how many repetitions fit into the time") {
  const Spec catalog[] = {iwrite};
  Options options = one_length();
  options.min_processes = 1;
  options.settings.target_cpu_seconds = 5;
  const auto rows = launch(catalog, options, 1, model_hiding_a_tick()).rows("S_IWrite_Expl");
  CHECK(rows.at(0).repetitions == 1);
}

TEST_CASE("the load is calibrated on first use, once, on every rank") {
  const Spec catalog[] = {ibcast};
  Options options = small_options(1);
  Model model = model_hiding_a_tick();
  model.calibrated = false;
  const LaunchResult outcome = launch(catalog, options, 3, model);
  for (int rank = 0; rank < 3; ++rank) CHECK(outcome.log(rank, {"calibrate"}).size() == 1);
}

TEST_CASE("the row has the worst drift, and a load that has changed is calibrated again") {
  const Spec catalog[] = {ibcast};
  Options options = one_length();
  options.min_processes = 3;
  Model model = model_hiding_a_tick();
  const double down = GENERATE(-0.05, -0.5);
  model.drift = [&](int rank, int) { return rank == 1 ? 0.25 : rank == 2 ? down : 0.0; };
  const LaunchResult outcome = launch(catalog, options, 3, model);
  CHECK(outcome.rows("Ibcast").at(0).rows.at(0)[Figure::load_drift] == (down < -0.25 ? down : 0.25));
  CHECK(outcome.log(0, {"calibrate"}).empty());
  CHECK(outcome.log(1, {"calibrate"}).size() == 1);
  CHECK(outcome.log(2, {"calibrate"}).size() == (down < -0.25 ? 1 : 0));
}

TEST_CASE("-progress tests within the computation") {
  const Spec catalog[] = {ibcast};
  Options options = one_length();
  options.progress = 7;
  Model model = model_hiding_a_tick();
  model.with_load = [](const At&, const LoadUse& load) { return load.tests * tick; };
  CHECK(launch(catalog, options, 2, model).rows("Ibcast").at(0).rows.at(0)[Figure::time_overlapped] ==
        7 * tick);
}

TEST_CASE("the samples of an overlapping row come from the run without load") {
  const Spec catalog[] = {ibcast};
  Options options = one_length();
  options.show_tail = true;
  const Row row = launch(catalog, options, 2, model_hiding_a_tick()).rows("Ibcast").at(0).rows.at(0);
  CHECK(row.repetition_seconds == std::vector<double>(8, 2 * tick));
}

TEST_CASE("a passive target computes for as long as all repetitions took, and then waits in MPI") {
  const Spec catalog[] = {passive};
  Model model;
  model.takes_part = [](const Table&, int rank) { return rank == 0; };
  model.seconds = [](const At& at) {
    return (at.run < 2 ? 2 : 3) * tick;
  };  // a trial, pure, while it computes
  const LaunchResult outcome = launch(catalog, one_length(), 3, model);
  const Row row = outcome.rows("Truly_passive_put").at(0).rows.at(0);
  CHECK(row[Figure::time_max] == 2 * tick);
  CHECK(row[Figure::time_overlapped] == 3 * tick);
  CHECK_FALSE(row.has(Figure::time_cpu));
  CHECK_FALSE(row.has(Figure::overlap_percent));
  CHECK(outcome.log(0, {"compute"}).empty());
  CHECK(outcome.log(1, {"compute", "run", "conclude"}) ==
        Lines{"run 1", "run 8", "conclude 8", "compute 16", "run 8"});
  CHECK(outcome.log(2, {"compute"}).empty());
}

TEST_CASE("targets of all groups compute for as long as the slowest group took") {
  const Spec catalog[] = {passive};
  Options options = one_length();
  options.multi = Multi::each_group;
  Model model;
  model.takes_part = [](const Table&, int rank) { return rank % 2 == 0; };
  model.seconds = [](const At& at) { return (at.rank + 1) * tick; };
  const LaunchResult outcome = launch(catalog, options, 4, model);
  CHECK(outcome.log(1, {"compute"}) == Lines{"compute 24"});
  CHECK(outcome.log(3, {"compute"}) == Lines{"compute 24"});
}

TEST_CASE("interleaved: a turn before the table, before the row, and before each further segment") {
  const Spec catalog[] = {allreduce};
  const LaunchResult outcome = launch(catalog, alternating(3), 2, {});
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(outcome.ranks[static_cast<std::size_t>(rank)].log ==
          Lines{"wait for a row", "wait for a row", "open 64", "prepare", "run 1", "prepare", "run 8",
                "wait for a segment", "prepare", "run 8", "wait for a segment", "prepare", "run 8",
                "conclude 24"});
  }
  CHECK(outcome.rows("Allreduce").at(0).repetitions == 24);
}

TEST_CASE("interleaved: each further segment is warmed up by a repetition that does not count") {
  const Spec catalog[] = {allreduce};
  Options options = alternating(2);
  options.warm_up = true;
  const Model model{.seconds = [](const At& at) { return at.repetition == 0 && at.run == 4 ? 1.0 : tick; }};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  const Lines log = outcome.ranks[0].log;
  CHECK(Lines(log.end() - 6, log.end()) ==
        Lines{"run 12", "wait for a segment", "run 1", "prepare", "run 12", "conclude 24"});
}

TEST_CASE("interleaved: a row is the mean of its segments without the slowest and the fastest tenth") {
  const Spec catalog[] = {allreduce};
  Options options = alternating(10);
  options.settings.repetitions = 100;
  const Model model{.seconds = [](const At& at) {
    return at.run == 4 ? 64 * tick : at.run == 6 ? 0.0 : 2 * tick;
  }};
  const Row row = launch(catalog, options, 2, model).rows("Allreduce").at(0).rows.at(0);
  CHECK(row[Figure::time_max] == 2 * tick);
  CHECK(row[Figure::time_min] == 2 * tick);
}

TEST_CASE("interleaved: both runs of an overlapping row have segments") {
  const Spec catalog[] = {ibcast};
  const LaunchResult outcome = launch(catalog, alternating(3), 2, model_hiding_a_tick());
  CHECK(outcome.log(1, {"run", "wait for a segment", "conclude"}) ==
        Lines{"run 1", "run 8", "wait for a segment", "run 8", "wait for a segment", "run 8", "conclude 24",
              "run with load 8", "wait for a segment", "run with load 8", "wait for a segment",
              "run with load 8", "conclude 24"});
  CHECK(outcome.rows("Ibcast").at(0).rows.at(0)[Figure::time_overlapped] == 3 * tick);
}

TEST_CASE("interleaved: samples follow each other over all segments") {
  const Spec catalog[] = {allreduce};
  Options options = alternating(3);
  options.show_tail = true;
  const Model model{.seconds = [](const At& at) {
    return static_cast<double>(10 * at.run + at.repetition) * tick;  // run 0 is the trial
  }};
  const Row row = launch(catalog, options, 2, model).rows("Allreduce").at(0).rows.at(0);
  REQUIRE(row.repetition_seconds.size() == 24);
  CHECK(row.repetition_seconds[0] == 10 * tick);
  CHECK(row.repetition_seconds[7] == 17 * tick);
  CHECK(row.repetition_seconds[8] == 20 * tick);
  CHECK(row.repetition_seconds[23] == 37 * tick);
}

TEST_CASE("interleaved: benchmarks on files have no segments") {
  const Spec catalog[] = {iwrite};
  Options options = alternating(3);
  options.settings.non_aggregate_repetitions = 24;
  options.min_processes = 1;
  const LaunchResult outcome = launch(catalog, options, 1, model_hiding_a_tick());
  CHECK(outcome.log(0, {"wait for a segment"}).empty());
}

TEST_CASE(
    "a row is dropped if a stop request came during it, because another launch may have measured as well") {
  Options options = alternating(2);
  options.lengths = {8, 64};
  Model model = model_hiding_a_tick();
  std::string last;  // the last call of the second point before the request
  SECTION("in the first pass") { last = "run 12"; }
  SECTION("in the pass with load") { last = "run with load 12"; }
  model.stop = [&](const Rank& rank) {
    return rank.rank == 1 && rank.batches == 2 && std::ranges::count(rank.log, last) == 4;
  };
  const Spec catalog[] = {ibcast};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.reported_lines() == Lines{"open Ibcast 2", "row Ibcast 2 8", "close Ibcast 2"});
  CHECK(outcome.ending().state == Ending::State::interrupted);
  CHECK(outcome.ending().measured == 1);
}

TEST_CASE("without interleaving, a row during which a stop request came counts") {
  const Spec catalog[] = {ibcast};
  Options options = one_length();
  options.lengths = {8, 64};
  Model model = model_hiding_a_tick();
  model.stop = [](const Rank& rank) { return !rank.log.empty() && rank.log.back() == "conclude 8"; };
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.rows("Ibcast").size() == 1);
  CHECK(outcome.ending().state == Ending::State::interrupted);
}

TEST_CASE("a row is also dropped if a stop request came while the target computed") {
  Options options = alternating(2);
  options.lengths = {8, 64};
  Model model;
  model.takes_part = [](const Table&, int rank) { return rank == 0; };
  model.stop = [](const Rank& rank) { return rank.rank == 0 && std::ranges::count(rank.log, "run 24") == 2; };
  const Spec catalog[] = {passive};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.reported_lines() ==
        Lines{"open Truly_passive_put 2", "row Truly_passive_put 2 8", "close Truly_passive_put 2"});
  CHECK(outcome.ending().state == Ending::State::interrupted);
}

TEST_CASE("there is no pause after a dropped row") {
  const Spec catalog[] = {bcast};
  Options options = alternating(2);
  options.message_pause = true;
  const Model model{.stop = [](const Rank& rank) { return std::ranges::count(rank.log, "run 12") == 2; }};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.rows("Bcast").empty());
  CHECK(outcome.log(0, {"pause"}).empty());
}
