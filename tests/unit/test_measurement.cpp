// From the times of ranks and threads to the rows of a point.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "plan/groups.h"
#include "result/statistics.h"

using namespace openimb;

namespace {

const double none = std::nan("");

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
constexpr Spec allreduce{.name = "Allreduce", .reduction = true};
constexpr Spec uniband{
    .name = "Uniband", .kind = Kind::parallel_transfer, .table = &tables::rate, .message_rate = true};
constexpr Spec half_ibcast{
    .name = "Half_Ibcast", .table = &tables::overlap, .time_factor = 0.5, .overlap = Overlap::matched};

Table table_of(const Spec& spec, int ranks, int processes, int threads = 1, Multi multi = Multi::off) {
  Table table{
      .spec = spec, .grouping = make_grouping(ranks, processes, multi != Multi::off, {}), .multi = multi};
  table.grouping.threads = threads;
  return table;
}

Row only_row(const Table& table, PointTimes times) {
  const Measurement measurement = measurement_of(table, 64, 10, 4, std::move(times));
  CHECK(measurement.bytes == 64);
  CHECK(measurement.repetitions == 10);
  REQUIRE(measurement.rows.size() == 1);
  return measurement.rows[0];
}

}  // namespace

TEST_CASE("extremes are over the threads of all ranks, and name both") {
  const Row row = only_row(table_of(allreduce, 2, 2, 3), {.seconds = {3, 4, 5, 8, 1, 3}});
  CHECK((row[Figure::time_min] == 1 && row[Figure::time_max] == 8 && row[Figure::time_avg] == 4));
  CHECK((row.slowest.rank == 1 && row.slowest.thread == 0));
  const Row other = only_row(table_of(allreduce, 2, 2, 3), {.seconds = {3, 9, 5, 8, 1, 4}});
  CHECK((other.slowest.rank == 0 && other.slowest.thread == 1));
}

TEST_CASE("the wait for a turn comes from each thread's slowest rank") {
  const Row row = only_row(table_of(allreduce, 2, 2, 2), {.seconds = {3, 9, 5, 8}, .waiting = {1, 2, 3, 4}});
  CHECK(row.thread_seconds == std::vector<double>{5, 9});
  CHECK(row.thread_waiting == std::vector<double>{3, 2});
  CHECK(only_row(table_of(allreduce, 2, 2, 2), {.seconds = {3, 9, 5, 8}}).thread_waiting.empty());
}

TEST_CASE("threads that took no part do not count") {
  const Row row = only_row(table_of(allreduce, 2, 2, 2), {.seconds = {none, 2, 4, none}});
  CHECK((row[Figure::time_min] == 2 && row[Figure::time_max] == 4 && row[Figure::time_avg] == 3));
  CHECK((row.slowest.rank == 1 && row.slowest.thread == 0));
}

TEST_CASE("threads of ranks that wait do not count") {
  const Row row = only_row(table_of(allreduce, 3, 2, 2), {.seconds = {1, 1, 1, 2, 99, 99}});
  CHECK(row[Figure::time_max] == 2);
  CHECK((row.slowest.rank == 1 && row.slowest.thread == 1));
}

TEST_CASE("each group has its own threads") {
  const Table table = table_of(allreduce, 4, 2, 2, Multi::each_group);
  const Measurement measurement = measurement_of(table, 64, 10, 4, {.seconds = {1, 2, 3, 4, 5, 6, 7, 8}});
  REQUIRE(measurement.rows.size() == 2);
  CHECK((measurement.rows[0][Figure::time_min] == 1 && measurement.rows[0][Figure::time_max] == 4));
  CHECK((measurement.rows[1][Figure::time_min] == 5 && measurement.rows[1][Figure::time_max] == 8));
  CHECK((measurement.rows[1].slowest.rank == 3 && measurement.rows[1].slowest.thread == 1));
}

TEST_CASE("a point that no rank timed has rows of zeros") {
  const Row row = only_row(table_of(allreduce, 2, 2), {.seconds = {none, none}});
  CHECK((row[Figure::time_min] == 0 && row[Figure::time_max] == 0 && row[Figure::time_avg] == 0));
}

TEST_CASE("the time factor applies to all times alike") {
  const Row row = only_row(table_of(half_ibcast, 2, 2),
                           {.seconds = {2, 4}, .overlapped = {.t_ovrl = {5, 6}, .t_cpu = {3, 4}}});
  CHECK((row[Figure::time_min] == 1 && row[Figure::time_max] == 2 && row[Figure::time_avg] == 1.5));
  CHECK(row[Figure::time_pure] == 2);
  CHECK(row[Figure::time_cpu] == 2);
  CHECK(row[Figure::time_overlapped] == 3);
  CHECK(row[Figure::overlap_percent] == overlap_percent(4, 4, 6));  // a ratio
}

// A round trip has two messages and, before the last part of each, the computation of its sender.
TEST_CASE("a single transfer waits for the computation of both processes") {
  constexpr Spec late{.name = "Late",
                      .kind = Kind::single_transfer,
                      .table = &tables::overlap,
                      .time_factor = 0.5,
                      .overlap = Overlap::matched};
  const Table table = table_of(late, 3, 2);
  const Row row = only_row(
      table, {.seconds = {8, 8, none}, .overlapped = {.t_ovrl = {12, 11, none}, .t_cpu = {3, 5, none}}});
  CHECK((row[Figure::time_pure] == 4 && row[Figure::time_overlapped] == 6 && row[Figure::time_cpu] == 4));
  CHECK(row[Figure::overlap_percent] == 50);
  CHECK_FALSE(row.has(Figure::early_bird_share));
  Spec in_parts = late;
  in_parts.partitioned = true;
  CHECK(only_row(table_of(in_parts, 3, 2),
                 {.seconds = {8, 8, none},
                  .overlapped = {.t_ovrl = {12, 11, none},
                                 .t_cpu = {3, 5, none}}})[Figure::early_bird_share] == 0.5);
}

TEST_CASE("overlap comes from the thread with the largest t_ovrl") {
  const Row row =
      only_row(table_of({.name = "Ibcast", .table = &tables::overlap, .overlap = Overlap::matched}, 2, 2, 2),
               {.seconds = {1, 2, 3, 4}, .overlapped = {.t_ovrl = {5, 9, 7, 6}, .t_cpu = {10, 8, 12, 13}}});
  CHECK(row[Figure::time_overlapped] == 9);
  CHECK(row[Figure::time_pure] == 2);
  CHECK(row[Figure::time_cpu] == 8);
  CHECK(row[Figure::time_max] == 4);
  CHECK(row[Figure::overlap_percent] == 50);
}

TEST_CASE("the throughput follows from the time that is shown") {
  CHECK(only_row(table_of(pingpong, 2, 2), {.seconds = {4, 8}})[Figure::bytes_per_second] == 64 / 4.0);
  const Row rate = only_row(table_of(uniband, 4, 4), {.seconds = {1, 1, 2, 1}});
  CHECK(rate[Figure::messages_per_second] == 4 * 2 / 2.0);  // four in flight, two pairs
  CHECK(rate[Figure::bytes_per_second] == 64 * 4.0);
}

TEST_CASE("the defects of a row come from its own ranks") {
  const std::vector<double> wrong{1, 10, 100, 1000, 10000};
  const std::vector<double> seconds(5, 1.0);
  CHECK(only_row(table_of(allreduce, 5, 4), {.seconds = seconds, .defects = wrong}).defects == 1111);
  CHECK(only_row(table_of(allreduce, 5, 2, 1, Multi::summary), {.seconds = seconds, .defects = wrong})
            .defects == 1111);
  const Table groups = table_of(allreduce, 5, 2, 1, Multi::each_group);
  const auto rows = measurement_of(groups, 64, 10, 1, {.seconds = seconds, .defects = wrong}).rows;
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].defects == 11 && rows[1].defects == 1100));
  CHECK_FALSE(only_row(table_of(allreduce, 5, 4), {.seconds = seconds}).defects);
}

TEST_CASE("defects are counted by rank, however many threads it has") {
  const Row row =
      only_row(table_of(allreduce, 2, 2, 3), {.seconds = std::vector<double>(6, 1.0), .defects = {2, 3}});
  CHECK(row.defects == 5);
}

TEST_CASE("more defects than an int holds are still counted") {
  const Row row = only_row(table_of(allreduce, 2, 2), {.seconds = {1, 1}, .defects = {0x1p40, 3}});
  CHECK(row.defects == (std::int64_t{1} << 40) + 3);
}

TEST_CASE("each row has its own times of repetitions and their quantiles") {
  const Table groups = table_of(pingpong, 4, 2, 1, Multi::each_group);
  const auto rows = measurement_of(groups, 64, 3, 1,
                                   {.seconds = {1, 1, 1, 1}, .repetition_seconds = {{3, 1, 2}, {6, 5, 4}}})
                        .rows;
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].repetition_seconds == std::vector<double>{3, 1, 2});
  CHECK(rows[1].repetition_seconds == std::vector<double>{6, 5, 4});
  REQUIRE((rows[0].tail && rows[1].tail));
  CHECK((rows[0].tail->front() == 1 && rows[0].tail->back() == 3));
  CHECK((rows[1].tail->front() == 4 && rows[1].tail->back() == 6));
}

TEST_CASE("all rows of a point have the same drift and hints") {
  const Table groups = table_of({.name = "Ibcast", .table = &tables::overlap, .overlap = Overlap::matched}, 4,
                                2, 1, Multi::each_group);
  const auto rows =
      measurement_of(groups, 64, 3, 1, {.seconds = {1, 1, 1, 1}, .load_drift = 0.25, .hints = {{"a", "b"}}})
          .rows;
  REQUIRE(rows.size() == 2);
  for (const Row& row : rows) {
    CHECK(row[Figure::load_drift] == 0.25);
    CHECK(row.hints.size() == 1);
    CHECK_FALSE(row.has(Figure::time_overlapped));
  }
}

TEST_CASE("t_min <= t_avg <= t_max, whatever the times") {
  double value = 0.37;
  for (int ranks = 2; ranks <= 33; ++ranks) {
    std::vector<double> seconds;
    for (int i = 0; i < ranks * 2; ++i) {
      value = 3.99 * value * (1 - value);  // the logistic map: any number between 0 and 1
      seconds.push_back(value);
    }
    const Row row = only_row(table_of(allreduce, ranks, ranks, 2), {.seconds = seconds});
    CHECK(row[Figure::time_min] <= row[Figure::time_avg]);
    CHECK(row[Figure::time_avg] <= row[Figure::time_max]);
    CHECK(row[Figure::time_max] ==
          seconds[static_cast<std::size_t>(row.slowest.rank * 2 + row.slowest.thread)]);
  }
}
