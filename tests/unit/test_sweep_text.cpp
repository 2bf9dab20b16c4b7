// The text of IMB-FABRIC: medians from histograms, the slowest pairs, failed pairs, -matrix.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "report/sweep_text.h"

using namespace openimb;

namespace {

constexpr Spec latency{.name = "Pair_Latency",
                       .kind = Kind::parallel_transfer,
                       .table = &tables::time_and_bandwidth,
                       .in_rounds = true};
constexpr Spec bandwidth{.name = "Pair_Bandwidth",
                         .kind = Kind::parallel_transfer,
                         .table = &tables::message,
                         .message_rate = true,
                         .in_rounds = true};

Table table_of(const Spec& spec, bool defects = false) {
  Table table{.spec = spec, .grouping = {.processes = 3, .world = 3, .groups = {{0, 1, 2}}, .map = {}}};
  table.defects = defects;
  return table;
}

SweepText text_of(bool matrix = false) {
  RunFacts facts;
  facts.endpoints = {{.rank = 0, .host = "n1", .cpus = {}},
                     {.rank = 1, .host = "n2", .cpus = {}},
                     {.rank = 2, .host = "n3", .cpus = {}}};
  Options options;
  options.fabric = FabricOptions{.matrix = matrix, .listed = {}, .ranks = {0, 1, 2}};
  options.in_flight = 4;
  SweepText text;
  text.begin(facts, options);
  return text;
}

PairSample sample_of(EndpointPair pair, double microseconds, int pass = 1, std::int64_t bytes = 8) {
  return {.place = {.pass = pass, .round = 2, .pair = pair},
          .bytes = bytes,
          .repetitions = 100,
          .seconds = microseconds * 1e-6,
          .seconds_of_a = microseconds * 1e-6,
          .seconds_of_b = microseconds * 1e-6};
}

std::string add(SweepText& text, const Table& table, const PairSample& sample) {
  return text.pairs(table, std::vector{sample});
}

Failure unresponsive(EndpointPair pair, int pass) {
  Failure failure{.cause = Failure::Cause::no_answer, .bytes = 8, .detail = "endpoint 2 does not answer"};
  failure.pair = PairPlace{.pass = pass, .round = 0, .pair = pair};
  return failure;
}

bool holds(const std::string& text, const std::string& line) { return text.find(line) != std::string::npos; }

}  // namespace

TEST_CASE("the median of many times is right to 0.1 %, and the extremes are exact") {
  std::mt19937 draw(1);
  std::lognormal_distribution<double> times(-12, 1.5);
  PairTimes all;
  std::vector<double> kept;
  for (int i = 0; i < 10001; ++i) {
    kept.push_back(times(draw));
    all.add(kept.back());
  }
  std::ranges::sort(kept);
  CHECK(all.count() == 10001);
  CHECK(all.least() == kept.front());
  CHECK(all.most() == kept.back());
  CHECK(std::abs(all.median() / kept[5000] - 1) < 1e-3);
}

TEST_CASE("the median of one time is that time, and of no times zero") {
  PairTimes all;
  CHECK(all.median() == 0);
  all.add(3.7e-6);
  CHECK(all.median() == 3.7e-6);
}

TEST_CASE("times outside the bins stay within the extremes") {
  PairTimes all;
  for (const double seconds : {0.0, 1e-12, 1e9}) all.add(seconds);
  CHECK(all.least() == 0);
  CHECK(all.most() == 1e9);
  CHECK(all.median() >= 0);
  CHECK(all.median() <= 1e9);
}

TEST_CASE("a table has a row by length, over all pairs and passes") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  CHECK(add(text, table, sample_of({0, 1}, 2)).empty());
  add(text, table, sample_of({0, 2}, 4));
  add(text, table, sample_of({1, 2}, 3, 2));
  add(text, table, sample_of({0, 1}, 50, 1, 1048576));
  const std::string shown = text.table(table);
  CHECK(holds(shown, "# Benchmarking Pair_Latency\n# #endpoints = 3, #passes = 2\n#---"));
  CHECK(holds(
      shown,
      "       #bytes #repetitions  t_min[usec]     t_median  t_max[usec]   Mbytes/sec       #pairs      "
      "#failed\n"));
  CHECK(holds(shown,
              "            8          100         2.00         3.00         4.00         2.54            3   "
              "         "
              "0\n"));
  CHECK(holds(shown,
              "      1048576          100        50.00        50.00        50.00     20000.00            1"));
}

TEST_CASE("the head has the messages in flight, and the row ends with the wrong bytes") {
  SweepText text = text_of();
  const Table table = table_of(bandwidth, true);
  PairSample wrong = sample_of({0, 1}, 2);
  wrong.defects = 3;
  add(text, table, wrong);
  add(text, table, sample_of({0, 1}, 2, 2));
  const std::string shown = text.table(table);
  CHECK(holds(shown, "\n# window_size = 4\n#---"));
  CHECK(holds(shown, "#failed      defects\n"));
  CHECK(holds(shown, "            2            0         3.00\n"));
}

TEST_CASE("the slowest pairs come after the table, each once and with its slowest pass") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  add(text, table, sample_of({0, 1}, 2));
  add(text, table, sample_of({0, 2}, 8, 1));
  add(text, table, sample_of({0, 2}, 9, 2));
  add(text, table, sample_of({0, 2}, 5, 3));
  add(text, table, sample_of({1, 2}, 6));
  const std::string shown = text.slowest(table);
  CHECK(shown == "# slow: 8 B: 9.00 usec, 1.50 of the median: pair 0-2 (n1, n3), pass 2, round 2\n");
}

TEST_CASE("a pair that is not slower than the median is not called slow") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  add(text, table, sample_of({0, 1}, 2));
  CHECK(text.slowest(table).empty());
  add(text, table, sample_of({0, 2}, 2));
  add(text, table, sample_of({1, 2}, 0.3));
  CHECK(text.slowest(table).empty());
}

TEST_CASE("only five of many pairs are shown") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  for (int b = 1; b <= 20; ++b) add(text, table, sample_of({0, b}, b));
  const std::string shown = text.slowest(table);
  CHECK(std::ranges::count(shown, '\n') == 5);
  CHECK(holds(shown, "20.00 usec"));
  CHECK_FALSE(holds(shown, ": 15.00 usec"));
  CHECK(holds(shown, "pair 0-20 (n1, ?)"));
}

TEST_CASE("failed pairs are counted, and the first ones shown with the reason") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  add(text, table, sample_of({0, 1}, 2));
  for (int pass = 1; pass <= 7; ++pass) text.failure(table, unresponsive({0, 2}, pass));
  CHECK(holds(text.table(table), "            1            7\n"));
  const std::string shown = text.slowest(table);
  CHECK(holds(shown, "# failed: 8 B: pair 0-2 (n1, n3), pass 1, round 0: endpoint 2 does not answer\n"));
  CHECK(holds(shown, "# failed: 8 B: and 2 further pairs\n"));
}

TEST_CASE("a length at which all pairs failed has a row") {
  SweepText text = text_of();
  const Table table = table_of(latency);
  text.failure(table, unresponsive({0, 1}, 1));
  CHECK(holds(text.table(table), "            8            0         0.00         0.00         0.00"));
}

TEST_CASE("a table that was not measured has its head") {
  SweepText text = text_of();
  CHECK(holds(text.table(table_of(latency)), "# Benchmarking Pair_Latency\n"));
  CHECK(text.slowest(table_of(latency)).empty());
}

TEST_CASE("-matrix: a line for each pair, under one head") {
  SweepText text = text_of(true);
  const Table table = table_of(latency);
  CHECK(add(text, table, sample_of({0, 1}, 2.5)) ==
        "\n         pass        round            a            b       #bytes #repetitions      t[usec]  "
        "benchmark\n"
        "            1            2            0            1            8          100         2.50  "
        "Pair_Latency\n");
  CHECK(add(text, table, sample_of({1, 2}, 3, 2)) ==
        "            2            2            1            2            8          100         3.00  "
        "Pair_Latency\n");
}

TEST_CASE("the banner names the rounds") {
  FabricOptions options{.seed = 7, .listed = {}, .ranks = {0, 1, 2, 3}};
  CHECK(rounds_text(options) == "3 rounds, circle, random order (seed 7)");
  options.serial = true;
  options.rounds = RoundKind::halves;
  CHECK(rounds_text(options) == "2 rounds, halves, one pair after the other, random order (seed 7)");
}
