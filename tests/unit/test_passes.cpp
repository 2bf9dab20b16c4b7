// From samples to rows: medians over the passes of the reference state, with their interval.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "chance.h"
#include "result/passes.h"

using namespace openimb;

namespace {

Table one_table(const TableFormat& shown = tables::time_and_bandwidth) {
  Table table;
  table.spec = {.name = "PingPong", .kind = Kind::single_transfer, .table = &shown, .time_factor = 0.5};
  table.grouping.processes = 2;
  table.grouping.groups = {{0, 1}};
  return table;
}

/// Makes a series with one sample per second, from functions that give the time and the probe of each sample.
template <class Time, class Probe>
RowSeries series_of(int samples, Time time, Probe probe) {
  RowSeries series;
  for (int i = 0; i < samples; ++i) {
    Row row;
    row[Figure::time_max] = time(i);
    row[Figure::time_min] = row[Figure::time_max] / 2;
    row[Figure::time_avg] = row[Figure::time_max] * 3 / 4;
    row.slowest.rank = i % 3 == 0 ? 0 : 1;
    if (i == 0) series.first = row;
    const double p = probe(i);
    series.samples.push_back(
        {.at = 1.0 * i, .repetitions = 100 + i, .figures = row, .slowest = row.slowest, .probes = {p, p}});
  }
  return series;
}

Summary summary_of(RowSeries& series, const TableFormat& shown = tables::time_and_bandwidth) {
  RowSeries* const rows[] = {&series};
  const MachineStates states = assign_states(rows, 1000);
  return summarize(one_table(shown), 1024, 1, series, states);
}

}  // namespace

TEST_CASE("without states a row is the plain median of all its samples") {
  RowSeries series = series_of(5, [](int i) { return 1e-6 * (i + 1); }, [](int) { return 1e-6; });
  const Summary summary = summary_of(series);
  CHECK(summary.row[Figure::time_max] == 3e-6);
  CHECK(summary.row[Figure::time_min] == 1.5e-6);
  CHECK(summary.row[Figure::time_avg] == Approx(2.25e-6));
  CHECK(summary.repetitions == 102);
  CHECK(summary.row.slowest.rank == 1);
  CHECK(summary.row[Figure::bytes_per_second] == Approx(1024 / 3e-6));
  CHECK(summary.row.passes->samples == 5);
  CHECK(summary.row.passes->used == 5);
}

TEST_CASE("too few samples have no interval, and many have one that contains the median") {
  RowSeries few = series_of(3, [](int i) { return 1e-6 + 1e-9 * i; }, [](int) { return 1e-6; });
  CHECK_FALSE(summary_of(few).row.passes->half_width);
  RandomNumbers chance(1);
  RowSeries many =
      series_of(100, [&](int) { return 1e-6 * std::exp(0.05 * chance.normal()); }, [](int) { return 1e-6; });
  const SampleStatistics figure = *summary_of(many).row.passes;
  REQUIRE(figure.interval);
  CHECK(figure.interval->low < summary_of(many).row[Figure::time_max]);
  CHECK(figure.interval->high > summary_of(many).row[Figure::time_max]);
  CHECK(*figure.half_width < 0.03);
  CHECK(is_within(figure, 0.03));
  CHECK_FALSE(is_within(figure, 1e-4));
}

TEST_CASE("figures come from the fastest state, and the row lists the other states") {
  RandomNumbers chance(2);
  const auto slow = [](int i) { return (i / 20) % 2 == 1; };
  RowSeries series = series_of(
      200, [&](int i) { return (slow(i) ? 5e-6 : 2e-6) * std::exp(0.02 * chance.normal()); },
      [&](int i) { return (slow(i) ? 0.4e-6 : 0.16e-6) * std::exp(0.03 * chance.normal()); });
  const Summary summary = summary_of(series);
  CHECK(summary.row[Figure::time_max] == Approx(2e-6).epsilon(0.02));
  const SampleStatistics& figure = *summary.row.passes;
  REQUIRE(figure.states.size() == 2);
  CHECK(figure.states[0].level == Approx(0.16e-6).epsilon(0.02));
  CHECK(figure.states[1].median == Approx(5e-6).epsilon(0.02));
  CHECK(figure.used == 100);
  CHECK(figure.reference);
  CHECK(modes_of(one_table(), series, figure).empty());
}

TEST_CASE("a sample between two states belongs to neither") {
  RowSeries series = series_of(
      200, [](int i) { return (i / 20) % 2 == 1 ? 5e-6 : 2e-6; },
      [](int i) { return ((i / 20) % 2 == 1 ? 0.4e-6 : 0.16e-6) * (1 + 1e-3 * (i % 7)); });
  series.samples[25].probes.after = 0.16e-6;
  series.samples[26].probes.before = 0.16e-6;
  series.samples[26].probes.after = 0.16e-6;
  series.samples[27].probes.before = 0.16e-6;
  const SampleStatistics figure = *summary_of(series).row.passes;
  CHECK(figure.between_states == 2);
  CHECK(figure.states[0].samples + figure.states[1].samples == 198);
}

// Makes a row with `in_reference` samples in the reference state and 60 in another one.
Summary late_row(std::ptrdiff_t in_reference) {
  const auto slow = [](int i) { return i >= 60; };
  const auto probe = [&](int i) { return (slow(i) ? 0.4e-6 : 0.16e-6) * (1 + 1e-3 * (i % 7)); };
  RowSeries seen = series_of(120, [](int) { return 1e-6; }, probe);
  RowSeries late = series_of(120, [&](int i) { return slow(i) ? 5e-6 : 2e-6; }, probe);
  late.samples.erase(late.samples.begin(), late.samples.begin() + 60 - in_reference);
  RowSeries* const rows[] = {&seen, &late};
  const MachineStates states = assign_states(rows, 1000);
  return summarize(one_table(), 8, 1, late, states);
}

TEST_CASE("a row with too few samples in the reference state uses all its samples, and says so") {
  const Summary summary = late_row(2);
  CHECK_FALSE(summary.row.passes->reference);
  CHECK(summary.row.passes->used == 62);
  CHECK(summary.row[Figure::time_max] == 5e-6);
}

TEST_CASE("three samples in the reference state are enough for a row, but not for an interval") {
  const Summary summary = late_row(3);
  CHECK(summary.row.passes->reference);
  CHECK(summary.row.passes->used == 3);
  CHECK(summary.row[Figure::time_max] == 2e-6);
  CHECK_FALSE(summary.row.passes->interval);
}

TEST_CASE("levels that the probes do not show are found in the samples") {
  RandomNumbers chance(3);
  RowSeries series = series_of(
      100, [&](int i) { return ((i / 10) % 2 == 1 ? 5e-6 : 2e-6) * std::exp(0.02 * chance.normal()); },
      [](int) { return 1e-6; });
  const SampleStatistics figure = *summary_of(series).row.passes;
  const auto modes = modes_of(one_table(), series, figure);
  REQUIRE(modes.size() == 2);
  CHECK(modes[0].level == Approx(2e-6).epsilon(0.02));
  CHECK(modes[0].samples == 50);
}

TEST_CASE("without probes there are no states") {
  RowSeries series =
      series_of(50, [](int) { return 1e-6; }, [](int) { return std::numeric_limits<double>::quiet_NaN(); });
  const SampleStatistics figure = *summary_of(series).row.passes;
  CHECK(figure.states.empty());
  CHECK(figure.used == 50);
  CHECK(figure.reference);
}

TEST_CASE("each figure of overlap is a median, and the wider interval counts") {
  RowSeries series;
  RandomNumbers chance(4);
  for (int i = 0; i < 60; ++i) {
    Row row;
    row[Figure::time_max] = 1e-6;
    row[Figure::time_pure] = 1e-6 * std::exp(0.2 * chance.normal());
    row[Figure::time_overlapped] = 2e-6 * std::exp(0.01 * chance.normal());
    row[Figure::time_cpu] = 1e-6;
    row[Figure::overlap_percent] = i % 2 == 0 ? 40 : 60;
    series.samples.push_back({.at = 1.0 * i, .repetitions = 10, .figures = row, .probes = {1e-6, 1e-6}});
    if (i == 0) series.first = row;
  }
  const Summary summary = summary_of(series, tables::overlap);
  CHECK(summary.row[Figure::time_overlapped] == Approx(2e-6).epsilon(0.01));
  CHECK(summary.row[Figure::time_pure] == Approx(1e-6).epsilon(0.2));
  CHECK(summary.row[Figure::overlap_percent] == 50);
  CHECK(*summary.row.passes->half_width > 0.03);
}
