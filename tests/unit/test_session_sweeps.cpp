// Sessions of IMB-FABRIC: when pairs are measured, what is reported about them, and ranks that stop
// responding.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "allocations.h"
#include "fake_launch.h"

using namespace openimb;
using namespace openimb::fake;
using Lines = std::vector<std::string>;

namespace {

constexpr Spec latency{.name = "Pair_Latency",
                       .kind = Kind::parallel_transfer,
                       .table = &tables::time_and_bandwidth,
                       .time_factor = 0.5,
                       .min_processes = 2,
                       .in_rounds = true};
constexpr Spec bandwidth{.name = "Pair_Bandwidth",
                         .kind = Kind::parallel_transfer,
                         .table = &tables::time_and_bandwidth,
                         .min_processes = 2,
                         .in_rounds = true};

Options options_of(std::vector<int> ranks, std::size_t benchmarks = 1) {
  Options options = small_options(benchmarks);
  options.defaults = fabric_defaults;
  options.lengths = {8};
  options.fabric = FabricOptions{.listed = {}, .ranks = std::move(ranks)};
  return options;
}

Options listed(std::vector<EndpointPairs> rounds, std::vector<int> ranks) {
  Options options = options_of(std::move(ranks));
  options.fabric->rounds = RoundKind::listed;
  options.fabric->listed = std::move(rounds);
  return options;
}

std::vector<PairSample> pairs_of(const LaunchResult& outcome) {
  std::vector<PairSample> all;
  for (const ReporterCall& one : outcome.reported) all.insert(all.end(), one.pairs.begin(), one.pairs.end());
  return all;
}

std::string name_of(const PairPlace& place) {
  return std::to_string(place.pair.a) + "-" + std::to_string(place.pair.b);
}

// Counts how often each pair was measured or failed.
std::map<std::string, int> measured(const LaunchResult& outcome) {
  std::map<std::string, int> counts;
  for (const PairSample& one : pairs_of(outcome)) ++counts[name_of(one.place)];
  return counts;
}
std::map<std::string, int> failed(const LaunchResult& outcome) {
  std::map<std::string, int> counts;
  for (const Failure& one : outcome.failures()) {
    CHECK(one.cause == Failure::Cause::no_answer);
    ++counts[name_of(*one.pair)];
  }
  return counts;
}

using Counts = std::map<std::string, int>;

}  // namespace

TEST_CASE("every pass has every pair, in alternating directions, and the tables come at the end") {
  const Spec catalog[] = {latency, bandwidth};
  Options options = options_of({0, 1, 2, 3}, 2);
  options.lengths = {8, 64};
  options.passes = Passes{.most = 2, .precision = {}, .budget = {}};
  const LaunchResult outcome = launch(catalog, options, 4, {});
  const Counts each = measured(outcome);
  CHECK(each.size() == 6 * 2);
  for (const auto& [pair, times] : each) CHECK(times == 2 * 2);
  for (const PairSample& one : pairs_of(outcome)) {
    CHECK((one.place.pair.a < one.place.pair.b) == (one.place.pass == 1));
  }
  CHECK(outcome.ending().measured == 6 * 2 * 2 * 2);
  CHECK(outcome.ending().failed == 0);
  const Lines story = outcome.reported_lines();
  CHECK(std::ranges::count(story, "pairs Pair_Latency 4") == 3 * 2 * 2);
  CHECK(Lines(story.end() - 4, story.end()) == Lines{"open Pair_Latency 4", "close Pair_Latency 4",
                                                     "open Pair_Bandwidth 4", "close Pair_Bandwidth 4"});
}

TEST_CASE("a round has all benchmarks and lengths before the next one begins") {
  const Spec catalog[] = {latency, bandwidth};
  Options options = options_of({0, 1, 2, 3}, 2);
  options.lengths = {8, 64};
  const std::vector<PairSample> pairs = pairs_of(launch(catalog, options, 4, {}));
  REQUIRE(pairs.size() == 24);
  std::vector<int> rounds;
  for (const PairSample& one : pairs) {
    if (rounds.empty() || rounds.back() != one.place.round) rounds.push_back(one.place.round);
  }
  CHECK(rounds.size() == 3);
  CHECK(std::ranges::is_sorted(pairs, {}, &PairSample::at));
}

TEST_CASE("the time of a pair is the time of its slower side, and each side has its own time") {
  const Spec catalog[] = {latency};
  Model model;
  model.seconds = [](const At& at) { return at.rank == 1 ? 0x1p-8 : at.rank == 3 ? 0x1p-6 : 0x1p-10; };
  const LaunchResult outcome = launch(catalog, options_of({0, 1, 3}), 4, model);
  CHECK(measured(outcome) == Counts{{"0-1", 1}, {"0-2", 1}, {"1-2", 1}});
  for (const PairSample& one : pairs_of(outcome)) {
    const double sides[] = {0x1p-11, 0x1p-9, 0x1p-7};
    CHECK(one.seconds_of_a == sides[one.place.pair.a]);
    CHECK(one.seconds_of_b == sides[one.place.pair.b]);
    CHECK(one.seconds == std::max(one.seconds_of_a, one.seconds_of_b));
    CHECK(one.repetitions == 8);
    CHECK_FALSE(one.defects);
  }
}

TEST_CASE("with a hub the time of a pair is the time of the other side") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2});
  options.fabric->rounds = RoundKind::one_to_all;
  Model model;
  model.seconds = [](const At& at) { return 0x1p-10 * (1 + at.rank); };
  const std::vector<PairSample> pairs = pairs_of(launch(catalog, options, 3, model));
  REQUIRE(pairs.size() == 6);
  for (const PairSample& one : pairs) {
    CHECK(one.place.pair.a == one.place.round);
    CHECK(one.seconds == 0x1p-11 * (1 + one.place.pair.b));
  }
}

TEST_CASE("serial: one pair after the other") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.fabric->serial = true;
  const LaunchResult outcome = launch(catalog, options, 4, {});
  CHECK(measured(outcome).size() == 6);
  for (const ReporterCall& one : outcome.reported) CHECK(one.pairs.size() <= 1);
}

TEST_CASE("the budget ends a sweep between two rounds, in order") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.passes = Passes{.most = {}, .precision = {}, .budget = 0.0625};
  const LaunchResult outcome = launch(catalog, options, 4, {});
  CHECK(outcome.ending().state == Ending::State::complete);
  CHECK(outcome.ending().failed == 0);
  CHECK(outcome.ending().measured == static_cast<int>(pairs_of(outcome).size()));
  CHECK(outcome.ending().measured % 2 == 0);
  CHECK(pairs_of(outcome).back().at < 0.0625 + 0.03125);
  CHECK(outcome.reported_lines().back() == "close Pair_Latency 4");
}

TEST_CASE("a signal ends a sweep between two rounds") {
  const Spec catalog[] = {latency};
  Model model;
  model.stop = [](const Rank& rank) { return rank.rank == 2 && rank.batches >= 2; };
  const LaunchResult outcome = launch(catalog, options_of({0, 1, 2, 3}), 4, model);
  CHECK(outcome.ending().state == Ending::State::interrupted);
  CHECK(pairs_of(outcome).size() == 4);
}

TEST_CASE("wrong bytes are counted in the first pass, by pair") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.check = true;
  options.passes = Passes{.most = 2, .precision = {}, .budget = {}};
  Model model;
  model.wrong_bytes = [](const At& at) { return std::int64_t{at.rank == 3 ? 5 : 0}; };
  const LaunchResult outcome = launch(catalog, options, 4, model);
  for (const PairSample& one : pairs_of(outcome)) {
    CHECK(one.defects.has_value() == (one.place.pass == 1));
    CHECK(one.defects.value_or(0) == (one.place.pass == 1 && one.place.pair.b == 3 ? 5 : 0));
  }
  CHECK(outcome.ending().defects == 15);
}

TEST_CASE("a point that cannot be measured has one failure row in its table") {
  const Spec catalog[] = {latency, bandwidth};
  Options options = options_of({0, 1, 2}, 2);
  options.lengths = {8, 64};
  Model model;
  SECTION("a length") {
    model.has_memory = [](const Table&, const Point& point, int rank) {
      return point.bytes == 8 || rank != 1;
    };
    const LaunchResult outcome = launch(catalog, options, 3, model);
    CHECK(outcome.failures().size() == 2);
    CHECK(outcome.ending().failed == 2);
    CHECK(outcome.ending().measured == 6);
    for (const Failure& one : outcome.failures()) {
      CHECK(one.bytes == 64);
      CHECK_FALSE(one.pair);
    }
  }
  SECTION("a benchmark") {
    model.table_failure = [](const Table& table) -> std::optional<Failure> {
      if (table.spec.name != "Pair_Latency") return std::nullopt;
      return Failure{.cause = Failure::Cause::unavailable, .detail = "no"};
    };
    const LaunchResult outcome = launch(catalog, options, 3, model);
    CHECK(outcome.failures().size() == 1);
    CHECK(outcome.ending().measured == 6);
  }
}

TEST_CASE("a point that fails in a round is a failure of each of its pairs") {
  const Spec catalog[] = {latency};
  Model model;
  model.opens = [](const Table&, const Point&, int rank) { return rank != 2; };
  const LaunchResult outcome = launch(catalog, options_of({0, 1, 2, 3}), 4, model);
  CHECK(outcome.ending().measured == 0);
  CHECK(outcome.ending().failed == 6);
  std::set<std::string> pairs;
  for (const Failure& one : outcome.failures()) {
    CHECK(one.cause == Failure::Cause::out_of_memory);
    pairs.insert(name_of(*one.pair));
  }
  CHECK(pairs.size() == 6);
}

TEST_CASE("pairs of a rank that stops responding fail, and the other pairs of the round are measured again") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.passes = Passes{.most = 2, .precision = {}, .budget = {}};
  // At a time within the first round: one agreement opens the table, one begins the round, one ends a trial.
  Model model;
  model.lost = [](int agreements) { return agreements == 5 ? std::vector{3} : std::vector<int>{}; };
  const LaunchResult outcome = launch(catalog, options, 4, model);
  CHECK(measured(outcome) == Counts{{"0-1", 1}, {"0-2", 1}, {"1-2", 1}, {"1-0", 1}, {"2-0", 1}, {"2-1", 1}});
  CHECK(failed(outcome) == Counts{{"0-3", 1}, {"1-3", 1}, {"2-3", 1}, {"3-0", 1}, {"3-1", 1}, {"3-2", 1}});
  CHECK(outcome.ending().measured == 6);
  CHECK(outcome.ending().failed == 6);
  CHECK(outcome.ending().state == Ending::State::complete);
  for (const Failure& one : outcome.failures()) {
    CHECK(one.bytes == 8);
    CHECK(one.detail.starts_with("endpoint 3 does not answer, since pass 1, round "));
  }
}

TEST_CASE("a rank may stop responding before the first pass, and between two rounds") {
  const Spec catalog[] = {latency};
  const Options options = listed({{{0, 1}}, {{1, 2}}}, {0, 1, 2});
  Model model;
  int when = 1;
  std::string since = "before the first pass";
  SECTION("before") {}
  SECTION("between") {
    when = 3;
    since = "since pass 1, round 0";
  }
  model.lost = [when](int agreements) { return agreements == when ? std::vector{2} : std::vector<int>{}; };
  const LaunchResult outcome = launch(catalog, options, 3, model);
  CHECK(measured(outcome) == Counts{{"0-1", 1}});
  REQUIRE(outcome.failures().size() == 1);
  if (when == 1) CHECK(outcome.failures()[0].detail == "endpoint 2 does not answer, " + since);
}

TEST_CASE("no pair fails if an idle rank stops responding") {
  const Spec catalog[] = {latency};
  Model model;
  model.lost = [](int agreements) { return agreements == 4 ? std::vector{1} : std::vector<int>{}; };
  const LaunchResult outcome = launch(catalog, options_of({0, 2, 3}), 4, model);
  CHECK(measured(outcome) == Counts{{"0-1", 1}, {"0-2", 1}, {"1-2", 1}});
  CHECK(outcome.ending().failed == 0);
}

TEST_CASE("a sweep ends when fewer than two endpoints answer") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2});
  options.passes = Passes{.most = 1000, .precision = {}, .budget = {}};
  Model model;
  model.lost = [](int agreements) { return agreements == 3 ? std::vector{1, 2} : std::vector<int>{}; };
  const LaunchResult outcome = launch(catalog, options, 3, model);
  CHECK(measured(outcome).empty());
  CHECK(failed(outcome) == Counts{{"0-1", 1}, {"0-2", 1}, {"1-2", 1}});
}

TEST_CASE("an unresponsive partner of a hub is left out of the round; an unresponsive hub ends the round") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.fabric->rounds = RoundKind::all_to_one;
  Model model;
  model.lost = [](int agreements) { return agreements == 3 ? std::vector{2} : std::vector<int>{}; };
  const LaunchResult outcome = launch(catalog, options, 4, model);
  CHECK(measured(outcome) == Counts{{"0-1", 1}, {"0-3", 1}, {"1-0", 1}, {"1-3", 1}, {"3-0", 1}, {"3-1", 1}});
  CHECK(failed(outcome) == Counts{{"0-2", 1}, {"1-2", 1}, {"3-2", 1}, {"2-0", 1}, {"2-1", 1}, {"2-3", 1}});
}

TEST_CASE("the seed decides the order of rounds") {
  const Spec catalog[] = {latency};
  const auto rounds = [&](std::uint64_t seed) {
    Options options = options_of({0, 1, 2, 3, 4, 5});
    options.fabric->seed = seed;
    options.passes = Passes{.most = 3, .precision = {}, .budget = {}};
    std::vector<int> order;
    for (const PairSample& one : pairs_of(launch(catalog, options, 6, {}))) order.push_back(one.place.round);
    return order;
  };
  CHECK(rounds(7) == rounds(7));
  CHECK(rounds(7) != rounds(8));
}

namespace {

// Returns the reading of a rank whose host has one interface, with one byte more at each reading.
Reading one_interface(const Rank& rank) {
  static thread_local double bytes = 0;
  ++bytes;
  return {0, 0, 0, 0, 0, 0, static_cast<double>(rank.rank), bytes, bytes};
}

// Returns what rank `by` allocates in a round, on average without the first one.
double allocated_per_round(int ranks, int by) {
  std::vector<int> every(static_cast<std::size_t>(ranks));
  std::iota(every.begin(), every.end(), 0);
  Model model;
  model.reading = one_interface;
  std::optional<std::size_t> first;
  std::size_t last = 0;
  model.seconds = [&](const At& at) {
    if (at.rank != by || at.repetition != 0) return 0x1p-10;
    last = allocated_by_this_thread();
    if (!first) first = last;
    return 0x1p-10;
  };
  const Spec catalog[] = {latency};
  launch(catalog, options_of(every), ranks, model);
  return static_cast<double>(last - *first) / (ranks - 2);
}

}  // namespace

TEST_CASE("a pair has the counters of its own hosts") {
  const Spec catalog[] = {latency};
  Options options = options_of({0, 1, 2, 3});
  options.fabric->readers = {0, 1, 1, 3};
  Model model;
  model.reading = one_interface;
  for (const PairSample& one : pairs_of(launch(catalog, options, 4, model))) {
    std::set<int> read;
    REQUIRE(one.evidence);
    for (const InterfaceBytes& bytes : one.evidence->interfaces) read.insert(bytes.rank);
    const auto reader = [&](int endpoint) { return options.fabric->readers[std::size_t(endpoint)]; };
    CHECK(read == std::set{reader(one.place.pair.a), reader(one.place.pair.b)});
  }
}

TEST_CASE("the memory of a round is linear in the endpoints") {
  // From N = 8 to 16 to 32 the differences double if the memory is linear, and quadruple if it is quadratic.
  const int by = GENERATE(0, 7);
  const double few = allocated_per_round(8, by), more = allocated_per_round(16, by),
               most = allocated_per_round(32, by);
  INFO(few << " " << more << " " << most);
  CHECK(few > 0);
  CHECK(most - more < 2.8 * (more - few));
}
