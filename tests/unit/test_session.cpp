// A whole session on ranks that are threads: what rank 0 reports, and that all ranks stay in step.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "fake_launch.h"
#include "meeting.h"

using namespace openimb;
using namespace openimb::fake;
using Lines = std::vector<std::string>;

namespace {

constexpr double tick = 0x1p-10;  // sums of ticks are exact

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
constexpr Spec bcast{.name = "Bcast", .rooted = true, .shares_buffer = true};
constexpr Spec uniband{
    .name = "Uniband", .kind = Kind::parallel_transfer, .table = &tables::rate, .message_rate = true};
constexpr Spec sendrecv{.name = "Sendrecv", .kind = Kind::parallel_transfer, .messages_per_process = 2};
constexpr Spec barrier{
    .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};

// Rank r takes r + 1 ticks for each repetition.
Model model_with_slower_later_ranks() {
  return {.seconds = [](const At& at) { return (at.rank + 1) * tick; }};
}

}  // namespace

TEST_CASE("three benchmarks run in order, each on its process counts") {
  const Spec catalog[] = {pingpong, bcast, uniband};
  Options options = small_options(3);
  options.min_processes = 2;
  options.lengths = {0, 8};
  const LaunchResult outcome = launch(catalog, options, 5, {});
  Lines expected;
  const auto table = [&](const std::string& name) {
    for (const char* what : {"open ", "row ", "row ", "close "}) expected.push_back(what + name);
    expected[expected.size() - 3] += " 0";
    expected[expected.size() - 2] += " 8";
  };
  table("PingPong 2");
  for (const char* processes : {" 2", " 4", " 5"}) table(std::string("Bcast") + processes);
  for (const char* processes : {" 2", " 4", " 5"}) table(std::string("Uniband") + processes);
  CHECK(outcome.reported_lines() == expected);
  CHECK(outcome.ending().state == Ending::State::complete);
  CHECK(outcome.ending().reason.empty());
  CHECK(outcome.ending().measured == 14);
  CHECK(outcome.ending().failed == 0);
}

TEST_CASE("a row has the extremes and the mean over the active ranks") {
  const Spec catalog[] = {bcast};
  const LaunchResult outcome = launch(catalog, small_options(1), 5, model_with_slower_later_ranks());
  const auto of_four = outcome.rows("Bcast", 4);
  REQUIRE(of_four.size() == 3);
  for (const Measurement& measurement : of_four) {
    CHECK(measurement.repetitions == 8);
    REQUIRE(measurement.rows.size() == 1);
    const Row& row = measurement.rows[0];
    CHECK(row.group == -1);
    CHECK(row[Figure::time_min] == tick);
    CHECK(row[Figure::time_max] == 4 * tick);
    CHECK(row[Figure::time_avg] == 2.5 * tick);
    CHECK(row.slowest.rank == 3);
    CHECK_FALSE(row.defects);
    CHECK_FALSE(row.tail);
  }
}

TEST_CASE("PingPong runs on two of five ranks and reports half its time") {
  const Spec catalog[] = {pingpong};
  const LaunchResult outcome = launch(catalog, small_options(1), 5, model_with_slower_later_ranks());
  const auto rows = outcome.rows("PingPong");
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].rows[0][Figure::time_min] == tick / 2);
  CHECK(rows[1].rows[0][Figure::time_max] == tick);
  CHECK(rows[1].rows[0].slowest.rank == 1);
  CHECK(rows[1].rows[0][Figure::bytes_per_second] == 8 / tick);
  CHECK(rows[2].rows[0][Figure::bytes_per_second] == 64 / tick);
}

TEST_CASE("a rank's time is its mean over the repetitions") {
  const Spec catalog[] = {bcast};
  const Model model{.seconds = [](const At& at) { return static_cast<double>(at.repetition + 1) * tick; }};
  const auto rows = launch(catalog, small_options(1), 2, model).rows("Bcast");
  CHECK(rows.at(0).rows.at(0)[Figure::time_max] == 4.5 * tick);  // of 1 to 8
}

TEST_CASE("-multi 1: every group has its row, and the remaining rank waits") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.multi = Multi::each_group;
  const LaunchResult outcome = launch(catalog, options, 5, model_with_slower_later_ranks());
  const Measurement point = outcome.rows("Sendrecv", 2).at(1);
  REQUIRE(point.rows.size() == 2);
  CHECK((point.rows[0].group == 0 && point.rows[1].group == 1));
  CHECK((point.rows[0][Figure::time_min] == tick && point.rows[0][Figure::time_max] == 2 * tick));
  CHECK((point.rows[1][Figure::time_min] == 3 * tick && point.rows[1][Figure::time_max] == 4 * tick));
  CHECK((point.rows[0].slowest.rank == 1 && point.rows[1].slowest.rank == 3));
  CHECK(point.rows[0][Figure::bytes_per_second] == 2 * 8 / (2 * tick));
  CHECK(point.rows[1][Figure::bytes_per_second] == 2 * 8 / (4 * tick));
  CHECK(outcome.rows("Sendrecv", 4).at(1).rows.size() == 1);
  CHECK(outcome.log(4, {"run"}).size() == 6);  // on five processes only
}

TEST_CASE("-multi 0 and a Multi- prefix: one row over all groups") {
  const Spec catalog[] = {uniband};
  Options options = small_options(1);
  const bool prefix = GENERATE(false, true);
  if (prefix) {
    options.selection = {{.index = 0, .multi = true}};
  } else {
    options.multi = Multi::summary;
  }
  const auto rows = launch(catalog, options, 4, model_with_slower_later_ranks()).rows("Uniband", 2);
  REQUIRE(rows.size() == 3);
  REQUIRE(rows[1].rows.size() == 1);
  CHECK(rows[1].rows[0].group == -1);
  CHECK((rows[1].rows[0][Figure::time_min] == tick && rows[1].rows[0][Figure::time_max] == 4 * tick));
  CHECK(rows[1].rows[0][Figure::messages_per_second] == options.in_flight / (4 * tick));
}

TEST_CASE("rates count the messages in flight") {
  Spec spec = uniband;
  spec.receive = Messages::in_flight;
  const Spec catalog[] = {spec};
  Options options = small_options(1);
  options.lengths = {100};
  options.settings.max_memory = 100 * (1 + 3) + 2 * 3 * 850;
  const bool in_passes = GENERATE(false, true);
  if (in_passes) options.passes = Passes{.most = 2, .precision = {}, .budget = {}};
  const Measurement point =
      launch(catalog, options, 2, model_with_slower_later_ranks()).rows("Uniband", 2).at(0);
  CHECK(point.fewer_in_flight == 3);
  CHECK(point.rows[0][Figure::messages_per_second] == 3 / point.rows[0][Figure::time_max]);
}

TEST_CASE("-map: rows name world ranks") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.map = Map{.rows = 2, .columns = 2};
  options.multi = Multi::each_group;
  const auto rows = launch(catalog, options, 4, model_with_slower_later_ranks()).rows("Sendrecv", 2);
  REQUIRE(rows.at(0).rows.size() == 2);
  CHECK(rows[0].rows[0].slowest.rank == 2);  // groups {0, 2} and {1, 3}
  CHECK(rows[0].rows[1][Figure::time_min] == 2 * tick);
}

TEST_CASE("a synchronization has one row without a length") {
  const Spec catalog[] = {barrier};
  const LaunchResult outcome = launch(catalog, small_options(1), 3, {});
  CHECK(outcome.reported_lines() == Lines{"open Barrier 2", "row Barrier 2 0", "close Barrier 2",
                                          "open Barrier 3", "row Barrier 3 0", "close Barrier 3"});
}

TEST_CASE("a row that takes too long is a time-out, and later lengths still run") {
  const Spec catalog[] = {bcast, pingpong};
  const Model model{.seconds = [](const At& at) { return at.bytes == 8 && at.rank == 1 ? 11.0 : tick; }};
  const LaunchResult outcome = launch(catalog, small_options(2), 2, model);
  CHECK(outcome.reported_lines() == Lines{"open Bcast 2", "row Bcast 2 0", "failure Bcast 2 8",
                                          "row Bcast 2 64", "close Bcast 2", "open PingPong 2",
                                          "row PingPong 2 0", "failure PingPong 2 8", "row PingPong 2 64",
                                          "close PingPong 2"});
  CHECK(outcome.failures().at(0).cause == Failure::Cause::time_out);
  CHECK(outcome.failures().at(0).seconds == 11);
  CHECK(outcome.ending().failed == 2);
  CHECK(outcome.ending().measured == 4);
  CHECK(outcome.ending().state == Ending::State::complete);
}

TEST_CASE("repetitions are as many as fit into the time, by the slowest rank's estimate") {
  const Spec catalog[] = {bcast};
  const Model model{.seconds = [](const At& at) { return at.rank == 2 ? 2.0 : tick; }};
  const LaunchResult outcome = launch(catalog, small_options(1), 3, model);
  const auto rows = outcome.rows("Bcast", 3);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].repetitions == 5);
  CHECK(rows[0].rows[0][Figure::time_max] == 2.0);
  CHECK(outcome.rows("Bcast", 2).at(0).repetitions == 8);
  // One repetition, some more because the first may have been slow, and the measurement.
  const Lines runs = outcome.log(0, {"run"});
  CHECK(Lines(runs.end() - 3, runs.end()) == Lines{"run 1", "run 1", "run 5"});
}

TEST_CASE("one slow repetition does not cost a row") {
  const Spec catalog[] = {bcast};
  const Model model{.seconds = [](const At& at) { return at.run == 0 ? 100.0 : tick; }};
  const auto rows = launch(catalog, small_options(1), 2, model).rows("Bcast");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].repetitions == 8);
}

TEST_CASE("policy off: all repetitions, no estimate, whatever they take") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.settings.policy = IterationPolicy::off;
  const LaunchResult outcome = launch(catalog, options, 2, {.seconds = [](const At&) { return 100.0; }});
  CHECK(outcome.log(1, {"run"}) == Lines{"run 8", "run 8", "run 8"});
  CHECK(outcome.rows("Bcast").at(2).rows.at(0)[Figure::time_max] == 100.0);
}

TEST_CASE("policy multiple_np: every rank is root equally often") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.settings.policy = GENERATE(IterationPolicy::multiple_np, IterationPolicy::automatic);
  const LaunchResult outcome = launch(catalog, options, 3, {});
  CHECK(outcome.rows("Bcast", 2).at(0).repetitions == 8);
  CHECK(outcome.rows("Bcast", 3).at(0).repetitions == 6);
}

TEST_CASE("warm-up: a short message once per table, then the length itself before each row") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.lengths = {64};
  options.warm_up = true;
  options.settings.repetitions = 30;
  const LaunchResult outcome = launch(catalog, options, 2, {});
  CHECK(outcome.ranks[0].log == Lines{"wait for a row", "open 4", "run 10", "wait for a row", "open 64",
                                      "run 3", "prepare", "run 1", "prepare", "run 30", "conclude 30"});
}

TEST_CASE("a measurement lies between barriers of all ranks, N_BARR before and one after it") {
  const Spec catalog[] = {pingpong};
  Options options = small_options(1);
  options.lengths = {8};
  options.settings.barriers = 4;
  const LaunchResult outcome = launch(catalog, options, 3, {});
  for (const Lines& calls : outcome.calls) {
    CHECK(std::ranges::count(calls, "barrier") == 5);
    CHECK(calls == outcome.calls[0]);
  }
  // The idle rank opens what the others open and times nothing.
  CHECK(outcome.ranks[2].log == Lines{"wait for a row", "wait for a row", "open 8"});
}

TEST_CASE("rank 0 reports progress after each row and each failure") {
  const Spec catalog[] = {bcast};
  const Model model{.seconds = [](const At& at) { return at.bytes == 8 ? 11.0 : tick; }};
  const LaunchResult outcome = launch(catalog, small_options(1), 2, model);
  REQUIRE(outcome.progress.size() == 3);
  CHECK((outcome.progress[0].measured == 1 && outcome.progress[0].failed == 0));
  CHECK((outcome.progress[1].measured == 1 && outcome.progress[1].failed == 1));
  CHECK((outcome.progress[2].measured == 2 && outcome.progress[2].failed == 1));
}

TEST_CASE("-msg_pause waits a tenth of what the row took, at least a tenth of a second, on every rank") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.message_pause = true;
  options.lengths = {8, 64};
  const Model model{.seconds = [](const At& at) { return at.bytes == 8 ? tick : 0.5; }};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(outcome.log(rank, {"pause"}) == Lines{"pause 0.100000", "pause 0.400000"});
  }
}

TEST_CASE("defects are added over the ranks and over the launch") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.check = true;
  const Model model{.wrong_bytes = [](const At& at) { return at.bytes == 8 ? at.rank + 1 : 0; }};
  const LaunchResult outcome = launch(catalog, options, 4, model);
  CHECK(outcome.rows("Bcast", 4).at(0).rows.at(0).defects == 0);
  CHECK(outcome.rows("Bcast", 4).at(1).rows.at(0).defects == 10);
  CHECK(outcome.rows("Bcast", 2).at(1).rows.at(0).defects == 3);
  CHECK(outcome.ending().defects == 13);
  // The check is a separate run of the same repetitions, before the timed ones.
  const Lines log = outcome.log(3, {"prepare", "run", "check", "conclude"});
  CHECK(Lines(log.begin(), log.begin() + 7) ==
        Lines{"prepare", "run 1", "prepare", "check 8", "prepare", "run 8", "conclude 8"});
}

TEST_CASE("each group has its own defects") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.check = true;
  options.multi = Multi::each_group;
  const Model model{.wrong_bytes = [](const At& at) { return std::int64_t{1} << at.rank; }};
  const auto rows = launch(catalog, options, 5, model).rows("Sendrecv", 2);
  REQUIRE(rows.at(0).rows.size() == 2);
  CHECK(rows[0].rows[0].defects == 3);
  CHECK(rows[0].rows[1].defects == 12);
}

TEST_CASE("-show_tail: each repetition has the slowest rank's time") {
  const Spec catalog[] = {pingpong};
  Options options = small_options(1);
  options.show_tail = true;
  options.settings.repetitions = 4;
  // Rank 0 is the slower one in even repetitions, rank 1 in odd ones.
  const Model model{.seconds = [](const At& at) {
    return (at.repetition % 2 == at.rank ? static_cast<double>(10 + at.repetition) : 1.0) * tick;
  }};
  const auto rows = launch(catalog, options, 3, model).rows("PingPong");
  REQUIRE(rows.size() == 3);
  const Row& row = rows[0].rows.at(0);
  CHECK(row.repetition_seconds == std::vector<double>{5 * tick, 5.5 * tick, 6 * tick, 6.5 * tick});
  REQUIRE(row.tail);
  CHECK((row.tail->front() == 5 * tick && row.tail->back() == 6.5 * tick));
  CHECK(row[Figure::time_max] == (1 + 11 + 1 + 13) * tick / 4 / 2);  // a mean over one rank's repetitions
}

TEST_CASE("-dumpfile with -multi 1: a series for each group, and none for the idle rank") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.dump_file = "samples";
  options.multi = Multi::each_group;
  options.settings.repetitions = 2;
  const Model model{
      .seconds = [](const At& at) { return static_cast<double>(10 * (at.rank + 1) + at.repetition) * tick; }};
  const auto rows = launch(catalog, options, 5, model).rows("Sendrecv", 2);
  REQUIRE(rows.at(0).rows.size() == 2);
  CHECK(rows[0].rows[0].repetition_seconds == std::vector<double>{20 * tick, 21 * tick});
  CHECK(rows[0].rows[1].repetition_seconds == std::vector<double>{40 * tick, 41 * tick});
}

TEST_CASE("series of groups that are too long to be gathered at once are gathered in parts") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.show_tail = true;
  options.multi = Multi::each_group;
  options.settings.repetitions = 7;
  Model model{.seconds = [](const At& at) {
    return (100 * at.rank + 1.0 + static_cast<double>(at.repetition)) * tick;
  }};
  const auto whole = launch(catalog, options, 5, model).rows("Sendrecv", 2);
  // Two groups: their series of seven times have 112 bytes; parts are three, three and one.
  model.max_gathered_bytes = 2 * 3 * sizeof(double) + 8;
  const auto in_parts = launch(catalog, options, 5, model).rows("Sendrecv", 2);
  REQUIRE((whole.at(0).rows.size() == 2 && in_parts.at(0).rows.size() == 2));
  for (const std::size_t i : {0, 1}) {
    CHECK(whole[0].rows[i].repetition_seconds.size() == 7);
    CHECK(whole[0].rows[i].repetition_seconds == in_parts[0].rows[i].repetition_seconds);
  }
}

TEST_CASE("texts whose length exceeds an int are refused before they are gathered") {
  constexpr int gibibyte = 1 << 30;
  CHECK(offsets_of(std::vector{gibibyte, gibibyte - 1}) == std::vector{0, gibibyte});
  CHECK(offsets_of(std::vector{0, 3, 0}) == std::vector{0, 0, 3});
  CHECK_THROWS_AS(offsets_of(std::vector{gibibyte, gibibyte}), std::length_error);
  CHECK_THROWS_AS(offsets_of(std::vector{gibibyte, gibibyte, gibibyte, gibibyte}), std::length_error);
}

TEST_CASE("series of groups are found where a map puts the groups' first ranks") {
  const Spec catalog[] = {sendrecv};
  Options options = small_options(1);
  options.show_tail = true;
  options.multi = Multi::each_group;
  options.map = Map{.rows = 2, .columns = 3};
  const auto rows = launch(catalog, options, 6, model_with_slower_later_ranks()).rows("Sendrecv", 2);
  REQUIRE(rows.at(0).rows.size() == 3);  // {0, 2}, {3, 5}, {4, 1}
  CHECK(rows[0].rows[0].repetition_seconds.at(0) == 3 * tick);
  CHECK(rows[0].rows[1].repetition_seconds.at(0) == 6 * tick);
  CHECK(rows[0].rows[2].repetition_seconds.at(0) == 5 * tick);
}

TEST_CASE("-sync on alone keeps no times of repetitions") {
  const Spec catalog[] = {bcast};
  Options options = small_options(1);
  options.synchronize_each = true;
  const auto rows = launch(catalog, options, 2, {}).rows("Bcast");
  CHECK(rows.at(0).rows.at(0).repetition_seconds.empty());
  CHECK(rows.at(0).rows.at(0)[Figure::time_max] == tick);
}

TEST_CASE("ranks of a group that have no time to report do not count") {
  const Spec one_put_all{.name = "One_put_all", .kind = Kind::multiple_transfer};
  const Spec catalog[] = {one_put_all};
  const Model model{.seconds = [](const At&) { return tick; },
                    .takes_part = [](const Table&, int rank) { return rank == 0; }};
  const auto rows = launch(catalog, small_options(1), 4, model).rows("One_put_all", 4);
  CHECK(rows.at(1).rows.at(0)[Figure::time_min] == tick);
  CHECK(rows.at(1).rows.at(0)[Figure::time_avg] == tick);
  CHECK(rows.at(1).rows.at(0)[Figure::bytes_per_second] == 3 * 8 / tick);
}

TEST_CASE("ranks that disagree are named, and none waits forever") {
  Verdict verdict;
  SECTION("one that does not come in time") {
    Meeting meeting("world", 3, verdict, std::chrono::milliseconds(20));
    std::jthread other(
        [&] { CHECK_THROWS_AS(ThreadProcessGroup(meeting, 1).allreduce_max(1), Disagreement); });
    other.join();
    CHECK(verdict.text() == "world: largest: these ranks did not come: 0 2");
  }
  SECTION("one that has ended") {
    Meeting meeting("world", 2, verdict, std::chrono::hours(1));
    meeting.leave(0);
    CHECK_THROWS_AS(ThreadProcessGroup(meeting, 1).barrier(), Disagreement);
    CHECK(verdict.text() == "world: barrier: these ranks have ended: 0");
  }
  SECTION("one that calls something else") {
    Meeting meeting("world", 2, verdict, std::chrono::hours(1));
    std::jthread other([&] {
      try {
        ThreadProcessGroup(meeting, 1).barrier();
      } catch (const Disagreement&) {
      }
    });
    try {
      ThreadProcessGroup(meeting, 0).gather(1.0);
    } catch (const Disagreement&) {
    }
    other.join();
    CHECK(verdict.text().find("world: rank") == 0);
    CHECK(verdict.text().find("gather a number") != std::string::npos);
  }
}

TEST_CASE("a session whose ranks disagree is noticed") {
  const Spec catalog[] = {bcast};
  // One rank alone thinks that its table failed: it goes on to the next one.
  std::atomic<int> asked = 0;
  const Model model{.table_failure = [&](const Table&) -> std::optional<Failure> {
    if (asked++ == 0) return Failure{.cause = Failure::Cause::no_space, .detail = "full"};
    return std::nullopt;
  }};
  CHECK_FALSE(launch_that_may_disagree(catalog, small_options(1), 3, model).disagreement.empty());
}
