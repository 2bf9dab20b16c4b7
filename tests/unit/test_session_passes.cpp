// Launches in passes: every point once a pass, until enough is known or the budget is spent.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "chance.h"
#include "fake_launch.h"

using namespace openimb;
using namespace openimb::fake;
using Lines = std::vector<std::string>;

namespace {

constexpr double tick = 0x1p-10;

constexpr Spec sendrecv{.name = "Sendrecv", .kind = Kind::parallel_transfer};
constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec ibcast{
    .name = "Ibcast", .table = &tables::overlap, .rooted = true, .overlap = Overlap::matched};

Options in_passes(std::size_t benchmarks, Passes passes) {
  Options options = small_options(benchmarks);
  options.passes = passes;
  return options;
}

Passes exactly(int passes) {
  Passes all;
  all.most = passes;
  return all;
}

std::vector<PassSample> samples_of(const LaunchResult& outcome) {
  std::vector<PassSample> samples;
  for (const ReporterCall& told : outcome.reported) {
    if (told.what == ReporterCall::What::sample) samples.push_back(told.sample);
  }
  return samples;
}

Lines without_samples(const LaunchResult& outcome) {
  Lines lines = outcome.reported_lines();
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("sample"); });
  return lines;
}

}  // namespace

TEST_CASE("in passes the whole selection is measured repeatedly, and tables come at the end") {
  const Spec catalog[] = {sendrecv, bcast};
  const LaunchResult outcome = launch(catalog, in_passes(2, exactly(3)), 2, {});
  const std::vector<PassSample> samples = samples_of(outcome);
  REQUIRE(samples.size() == 18);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(samples[i].pass == static_cast<int>(i / 6) + 1);
    CHECK(samples[i].measurement.first_row == static_cast<int>(i % 6));
  }
  CHECK(without_samples(outcome) == Lines{"open Sendrecv 2", "row Sendrecv 2 0", "row Sendrecv 2 8",
                                          "row Sendrecv 2 64", "close Sendrecv 2", "open Bcast 2",
                                          "row Bcast 2 0", "row Bcast 2 8", "row Bcast 2 64",
                                          "close Bcast 2"});
  CHECK(outcome.ending().measured == 6);
  CHECK(outcome.ending().passes == 3);
}

TEST_CASE("variants alternate at each point, and their variables are set only during measurements") {
  const Spec catalog[] = {bcast};
  Options options = in_passes(1, exactly(4));
  options.lengths = {8, 64};
  options.check = true;
  options.warm_up = true;
  options.variants = {{.label = "default", .variables = {}}, {.label = "ring", .variables = {{"a", "1"}}}};
  const LaunchResult outcome = launch(catalog, options, 2, {});
  Lines order;
  for (const ReporterCall& told : outcome.reported) {
    if (told.what != ReporterCall::What::sample) continue;
    order.push_back(std::string(told.table.variant) + ' ' + std::to_string(told.sample.measurement.bytes));
  }
  const Lines first = {"default 8", "ring 8", "ring 64", "default 64"};
  const Lines second = {"ring 8", "default 8", "ring 64", "default 64"};
  REQUIRE(order.size() == 16);
  CHECK(Lines(order.begin(), order.begin() + 4) == first);
  CHECK(Lines(order.begin() + 4, order.begin() + 8) == second);
  CHECK(without_samples(outcome) == Lines{"open Bcast 2", "row Bcast 2 8", "row Bcast 2 64", "close Bcast 2",
                                          "open Bcast 2", "row Bcast 2 8", "row Bcast 2 64",
                                          "close Bcast 2"});
  for (const int rank : {0, 1}) CHECK(outcome.log(rank, {"run under", "probe under", "agreement"}).empty());
  CHECK(outcome.log(0, {"run ", "check"}).size() > 32);
}

TEST_CASE("a point continues under all variants until it is done under each") {
  const Spec catalog[] = {sendrecv};
  Passes passes = exactly(40);
  passes.precision = 0.01;
  Options options = in_passes(1, passes);
  options.lengths = {8, 64};
  options.settings.repetitions = 1;
  options.variants = {{.label = "quiet", .variables = {}}, {.label = "noisy", .variables = {}}};
  Model model;
  int noisy = 0;
  model.seconds = [&](const At& at) {
    if (at.bytes != 64 || at.table.variant != "noisy") return tick;
    if (at.rank == 0) ++noisy;
    return at.rank == 0 && noisy % 3 == 0 ? 2 * tick : tick * (1 + 0.1 * (noisy % 5));
  };
  const std::vector<Measurement> rows = launch(catalog, options, 2, model).rows("Sendrecv");
  REQUIRE(rows.size() == 4);
  std::vector<int> samples;
  for (const Measurement& row : rows) samples.push_back(row.rows.front().passes->samples);
  CHECK(samples[0] < 40);
  CHECK(samples == std::vector{samples[0], 40, samples[0], 40});
}

TEST_CASE("a benchmark that is named twice has no variants") {
  const Spec catalog[] = {sendrecv};
  Options options = in_passes(1, exactly(2));
  options.selection.push_back(options.selection.front());
  const std::vector<PassSample> samples = samples_of(launch(catalog, options, 2, {}));
  REQUIRE(samples.size() == 12);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(samples[i].measurement.first_row == static_cast<int>(i % 6));
  }
}

TEST_CASE("a launch in passes counts exactly the rows that it writes, however it ends") {
  const Spec catalog[] = {sendrecv, bcast};
  Model model;
  model.opens = [](const Table& table, const Point& point, int) {
    return table.spec.name != "Bcast" || point.bytes != 8;
  };
  model.wrong_bytes = [](const At&) { return std::int64_t{1}; };
  Options options = in_passes(2, exactly(3));
  options.check = true;
  const LaunchResult outcome = launch(catalog, options, 2, model);
  const Lines lines = without_samples(outcome);
  const auto written = [&](const char* what) {
    return std::ranges::count_if(lines, [&](const std::string& line) { return line.starts_with(what); });
  };
  REQUIRE((written("row") == 5 && written("failure") == 1));
  CHECK((outcome.ending().measured == 5 && outcome.ending().failed == 1));
  // Each may be the last one. Rows are counted when they are written, wrong bytes at once.
  REQUIRE(outcome.progress.size() > 6);
  const std::size_t before = outcome.progress.size() - 6;
  for (std::size_t i = 0; i < outcome.progress.size(); ++i) {
    const Ending& one = outcome.progress[i];
    CHECK(one.measured + one.failed == (i < before ? 0 : static_cast<int>(i - before) + 1));
    CHECK(one.defects > 0);
  }
}

TEST_CASE("the row is the median over its samples") {
  const Spec catalog[] = {sendrecv};
  Model model;
  std::vector<int> runs(2);
  model.seconds = [&](const At& at) {
    if (at.repetition == 0) ++runs[static_cast<std::size_t>(at.rank)];
    return tick * (1 + runs[static_cast<std::size_t>(at.rank)] * 7 % 10);
  };
  Options options = in_passes(1, exactly(5));
  options.lengths = {64};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  std::vector<double> times;
  for (const PassSample& sample : samples_of(outcome)) {
    times.push_back(sample.measurement.rows.front()[Figure::time_max]);
  }
  std::ranges::sort(times);
  REQUIRE(times.size() == 5);
  CHECK(times.front() < times.back());
  CHECK(outcome.rows("Sendrecv").front().rows.front()[Figure::time_max] == times[2]);
}

TEST_CASE("a launch in passes ends when every row has the precision") {
  const Spec catalog[] = {sendrecv};
  Passes passes = exactly(1000);
  passes.precision = 0.01;
  const LaunchResult outcome = launch(catalog, in_passes(1, passes), 2, {});
  CHECK(outcome.ending().passes == 24);  // the second judgment
  for (const Measurement& measurement : outcome.rows("Sendrecv")) {
    const SampleStatistics& figure = *measurement.rows.front().passes;
    CHECK(figure.half_width == 0);
    CHECK(figure.shortfall == SampleStatistics::Shortfall::none);
  }
}

// The judgment that ends a launch uses the same states as the report.
TEST_CASE("a launch that ends before its last pass has every row within the precision") {
  const Spec catalog[] = {sendrecv};
  Passes passes = exactly(2000);
  passes.precision = 0.02;
  Options options = in_passes(1, passes);
  options.settings.repetitions = 1;
  int early = 0;
  for (unsigned seed = 109; seed <= 112; ++seed) {
    RandomNumbers draw(seed);
    double slow = 0;
    Model model;
    model.probe = [&](const Rank& rank) {
      if (rank.rank == 0 && draw.uniform() < 0.1) slow = draw.uniform() < 0.5 ? 0 : 0.03 * (1 + seed % 4);
      return 0x1p-20 * (1 + slow) * (1 + 0.02 * std::abs(draw.normal()));
    };
    model.seconds = [&](const At&) { return tick * (1 + slow) * (1 + 0.3 * std::abs(draw.normal())); };
    const LaunchResult outcome = launch(catalog, options, 1, model);
    if (outcome.ending().passes == 2000) continue;
    ++early;
    for (const Measurement& measurement : outcome.rows("Sendrecv")) {
      CHECK(measurement.rows.front().passes->shortfall == SampleStatistics::Shortfall::none);
    }
  }
  CHECK(early > 1);
}

TEST_CASE("rows that are done are not measured in further passes") {
  const Spec catalog[] = {sendrecv};
  Model model;
  Passes passes = exactly(40);
  passes.precision = 0.01;
  Options options = in_passes(1, passes);
  options.settings.repetitions = 1;
  int noisy = 0;
  model.seconds = [&](const At& at) {
    if (at.bytes != 64) return tick;
    if (at.rank == 0) ++noisy;
    return at.rank == 0 && noisy % 3 == 0 ? 2 * tick : tick * (1 + 0.1 * (noisy % 5));
  };
  const LaunchResult outcome = launch(catalog, options, 2, model);
  const std::vector<Measurement> rows = outcome.rows("Sendrecv");
  CHECK(rows[0].rows.front().passes->samples < rows[2].rows.front().passes->samples);
  CHECK(rows[2].rows.front().passes->samples == 40);
  CHECK(rows[2].rows.front().passes->shortfall == SampleStatistics::Shortfall::passes);
}

TEST_CASE("the budget limits the launch, and a row without a sample says so") {
  const Spec catalog[] = {sendrecv};
  Passes passes;
  passes.budget = 2.2 * tick;
  Model model;
  Options options = in_passes(1, passes);
  options.settings.repetitions = 1;
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.ending().state == Ending::State::complete);
  REQUIRE(outcome.failures().size() == 2);
  CHECK(outcome.failures().front().cause == Failure::Cause::over_budget);
  CHECK(outcome.ending().measured == 1);
  CHECK(outcome.ending().failed == 2);
}

// A repetition takes a second. The width of the first length takes three and its sample at least one, so that
// nothing is left for the second length.
TEST_CASE("no width of -arrival is measured beyond the budget") {
  const Spec catalog[] = {bcast};
  Passes passes;
  passes.budget = 3.5;
  Model model;
  model.seconds = [](const At&) { return 1.0; };
  Options options = in_passes(1, passes);
  options.lengths = {8, 64};
  options.settings.repetitions = 1;
  options.sync_start = SyncStart::clock;
  options.arrival = ArrivalChoice{.pattern = ArrivalPattern::last, .width = 3, .relative = true};
  const LaunchResult outcome = launch(catalog, options, 2, model);
  REQUIRE(outcome.rows("Bcast").size() == 1);
  REQUIRE(outcome.failures().size() == 1);
  CHECK(outcome.failures().front().bytes == 64);
  CHECK(outcome.failures().front().cause == Failure::Cause::over_budget);
  CHECK(outcome.log(0, {"open 64"}).empty());
}

TEST_CASE("in passes clocks are synchronized when they are 0.1 s old, and not before") {
  const Spec catalog[] = {bcast};
  Model model;
  model.seconds = [](const At&) { return 1e-3; };
  Options options = in_passes(1, exactly(200));
  options.lengths = {8};
  options.settings.repetitions = 2;
  options.sync_start = SyncStart::clock;
  const LaunchResult outcome = launch(catalog, options, 2, model);
  for (const Rank& rank : outcome.ranks) {
    const std::vector<double>& ages = rank.clock_ages;
    REQUIRE(ages.size() > 5);
    CHECK(std::isinf(ages.front()));
    for (std::size_t i = 1; i + 1 < ages.size(); ++i) {
      CHECK(ages[i] >= 0.1);
      CHECK(ages[i] < 0.1 + 5e-3);  // a sample later at most
    }
    CHECK(ages.back() < 0.1 + 5e-3);  // the last one checks the samples since
  }
}

TEST_CASE("an interrupted launch in passes reports the rows that it has") {
  const Spec catalog[] = {sendrecv};
  Model model;
  model.stop = [](const Rank& rank) { return rank.rank == 1 && rank.batches >= 5; };
  const LaunchResult outcome = launch(catalog, in_passes(1, exactly(100)), 2, model);
  CHECK(outcome.ending().state == Ending::State::interrupted);
  CHECK(outcome.ending().reason == "as rank sees it: 0");
  CHECK(outcome.rows("Sendrecv").size() == 3);
  CHECK(outcome.rows("Sendrecv")[0].rows.front().passes->samples == 2);
  CHECK(outcome.rows("Sendrecv")[2].rows.front().passes->samples == 1);
  CHECK(outcome.failures().empty());
}

TEST_CASE("an interrupted first pass has no rows of points it did not reach") {
  const Spec catalog[] = {sendrecv, bcast};
  Model model;
  model.stop = [](const Rank& rank) { return rank.batches >= 1; };
  const LaunchResult outcome = launch(catalog, in_passes(2, exactly(100)), 2, model);
  CHECK(without_samples(outcome) == Lines{"open Sendrecv 2", "row Sendrecv 2 0", "close Sendrecv 2"});
}

TEST_CASE("a point that fails in a later pass becomes a failure row") {
  const Spec catalog[] = {sendrecv};
  Model model;
  model.opens = [](const Table&, const Point& point, int) { return point.bytes != 8; };
  const LaunchResult outcome = launch(catalog, in_passes(1, exactly(3)), 2, model);
  CHECK(without_samples(outcome) == Lines{"open Sendrecv 2", "row Sendrecv 2 0", "failure Sendrecv 2 8",
                                          "row Sendrecv 2 64", "close Sendrecv 2"});
  CHECK(outcome.ending().failed == 1);
  CHECK(outcome.ending().measured == 2);
}

TEST_CASE("a table that cannot run fails once, not in every pass") {
  const Spec catalog[] = {sendrecv, bcast};
  Model model;
  model.table_failure = [](const Table& table) {
    std::optional<Failure> failure;
    if (table.spec.name == "Bcast") failure.emplace().cause = Failure::Cause::unavailable;
    return failure;
  };
  const LaunchResult outcome = launch(catalog, in_passes(2, exactly(3)), 2, model);
  CHECK(outcome.failures().size() == 1);
  CHECK(outcome.rows("Sendrecv").size() == 3);
}

TEST_CASE("every sample is between two probes") {
  const Spec catalog[] = {sendrecv};
  Model model;
  model.probe = [](const Rank& rank) { return rank.rank == 0 ? 1e-7 : 2e-7; };
  const LaunchResult outcome = launch(catalog, in_passes(1, exactly(2)), 3, model);
  for (const PassSample& sample : samples_of(outcome)) {
    REQUIRE(sample.probes.size() == 1);
    CHECK(sample.probes[0].before == 2e-7);
    CHECK(sample.probes[0].after == 2e-7);
  }
}

// The times of the model: of one exchange, and of the launch.
TEST_CASE("probes take at most a twentieth of the time, however long an exchange and a sample last") {
  const Spec catalog[] = {sendrecv};
  const double exchange = GENERATE(1e-8, 3e-7, 2e-6, 1e-5, 5e-5);
  const std::optional<double> budget = GENERATE(std::optional<double>(), std::optional<double>(0.3),
                                                std::optional<double>(3), std::optional<double>(100));
  Passes passes = exactly(4);
  passes.budget = budget;
  Options options = in_passes(1, passes);
  options.settings.repetitions = 100000;
  Model model;
  model.seconds = [](const At&) { return 5e-6; };
  model.probe = [exchange](const Rank&) { return exchange; };
  const Ending ending = launch(catalog, options, 2, model).ending();
  CAPTURE(exchange, budget.value_or(0), ending.observing_seconds, ending.measuring_seconds);
  REQUIRE(ending.measuring_seconds > 0);
  CHECK(ending.observing_seconds > 0);
  CHECK(ending.observing_seconds <= 0.05 * (ending.observing_seconds + ending.measuring_seconds));
}

TEST_CASE("if exchanges are slow, there are no probes and no states") {
  const Spec catalog[] = {sendrecv};
  Model model;
  model.probe = [](const Rank&) { return 0.01; };
  const LaunchResult outcome = launch(catalog, in_passes(1, exactly(3)), 2, model);
  CHECK(std::isnan(samples_of(outcome).front().probes[0].before));
  CHECK(outcome.rows("Sendrecv")[0].rows.front().passes->states.empty());
}

TEST_CASE("results are checked only in the first pass") {
  const Spec catalog[] = {sendrecv};
  Options options = in_passes(1, exactly(3));
  options.check = true;
  Model model;
  model.wrong_bytes = [](const At&) { return 5; };
  const LaunchResult outcome = launch(catalog, options, 2, model);
  CHECK(outcome.log(0, {"check"}).size() == 3);
  CHECK(outcome.rows("Sendrecv").front().rows.front().defects == 10);
  CHECK(outcome.ending().defects == 30);
}

TEST_CASE("each group has its own samples") {
  const Spec catalog[] = {sendrecv};
  Options options = in_passes(1, exactly(3));
  options.multi = Multi::each_group;
  options.min_processes = 2;
  Model model;
  model.seconds = [](const At& at) { return (at.rank < 2 ? 1 : 3) * tick; };
  const LaunchResult outcome = launch(catalog, options, 5, model);
  const std::vector<Measurement> pairs = outcome.rows("Sendrecv", 2);
  REQUIRE(pairs.size() == 3);
  REQUIRE(pairs[0].rows.size() == 2);
  CHECK(pairs[0].rows[0][Figure::time_max] == tick);
  CHECK(pairs[0].rows[1][Figure::time_max] == 3 * tick);
  CHECK(pairs[0].rows[1].passes->samples == 3);
  CHECK(pairs[1].first_row == 2);
}

TEST_CASE("overlap is measured in every pass") {
  const Spec catalog[] = {ibcast};
  Model model;
  model.with_load = [](const At&, const LoadUse& load) { return static_cast<double>(load.units) * tick; };
  model.computing = [](const At&, const LoadUse& load) { return static_cast<double>(load.units) * tick; };
  model.drift = [](int, int) { return 0.0; };
  const LaunchResult outcome = launch(catalog, in_passes(1, exactly(3)), 2, model);
  const Row row = outcome.rows("Ibcast")[1].rows.front();
  CHECK(row[Figure::time_overlapped] == tick);
  CHECK(row[Figure::overlap_percent] == 100);
  CHECK_FALSE(row.has(Figure::load_drift));
  CHECK(outcome.ranks[0].drifts == 3);
}

TEST_CASE("in passes a launch waits for its turn before every long sample") {
  const Spec catalog[] = {sendrecv};
  Passes passes = exactly(2);
  passes.budget = 3 * 150 * 20e-3;  // three rows, samples of 20 ms
  Options options = in_passes(1, passes);
  options.interleaving = Interleaving{.segments = 10, .host = {}, .port = {}, .token = {}};
  const LaunchResult outcome = launch(catalog, options, 2, {});
  CHECK(outcome.log(0, {"wait for a row"}).size() == 7);  // a table and twice three rows
  CHECK(outcome.log(0, {"wait for a segment"}).empty());
}

TEST_CASE("a turn has as many short samples as fit into 20 ms") {
  const Spec catalog[] = {sendrecv};
  Options options = in_passes(1, exactly(30));  // samples of 2 ms
  options.interleaving = Interleaving{.segments = 10, .host = {}, .port = {}, .token = {}};
  const LaunchResult outcome = launch(catalog, options, 2, {});
  CHECK(outcome.log(0, {"wait for a row"}).size() == 10);  // of a table and ninety rows
  CHECK(outcome.log(1, {"wait for a row"}).size() == 10);
}

TEST_CASE("a launch in which every point has failed ends with its first pass") {
  const Spec catalog[] = {sendrecv};
  Model model;
  model.opens = [](const Table&, const Point&, int) { return false; };
  Passes passes;
  passes.budget = 1000;
  const LaunchResult outcome = launch(catalog, in_passes(1, passes), 2, model);
  CHECK(outcome.ending().passes == 1);
  CHECK(outcome.ending().failed == 3);
}

TEST_CASE("a table whose memory another one lost has failure rows") {
  const Spec catalog[] = {sendrecv, bcast};
  Model model;
  model.loses_memory = [](const Table& table) { return table.spec.name == "Sendrecv"; };
  const LaunchResult outcome = launch(catalog, in_passes(2, exactly(3)), 2, model);
  CHECK(outcome.failures().size() == 3);
  CHECK(outcome.failures().front().cause == Failure::Cause::out_of_memory);
  CHECK(outcome.rows("Bcast").size() == 3);
  CHECK(outcome.ending().measured == 3);
}
