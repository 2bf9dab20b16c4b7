// Figures of rows against the definitions in the guide and in result/statistics.h.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <vector>

#include "plan/groups.h"
#include "result/statistics.h"

using namespace openimb;

namespace {

constexpr Spec pingpong{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
constexpr Spec sendrecv{.name = "Sendrecv", .kind = Kind::parallel_transfer, .messages_per_process = 2};
constexpr Spec uniband{
    .name = "Uniband", .kind = Kind::parallel_transfer, .table = &tables::rate, .message_rate = true};
constexpr Spec biband{.name = "Biband",
                      .kind = Kind::parallel_transfer,
                      .table = &tables::rate,
                      .messages_per_process = 2,
                      .message_rate = true};
constexpr Spec bcast{.name = "Bcast", .rooted = true};
constexpr Spec barrier{.name = "Barrier", .kind = Kind::synchronization};

constexpr int window = 256;

Table table_of(const Spec& spec, Grouping grouping, Multi multi = Multi::off) {
  return {.spec = spec, .grouping = std::move(grouping), .multi = multi};
}

Row only_row(const Table& table, std::int64_t bytes, const std::vector<double>& seconds) {
  const std::vector<Row> rows = rows_of(table, bytes, window, seconds);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].group == -1);
  return rows[0];
}

}  // namespace

TEST_CASE("a row of several groups shows a range, and a row of one group shows a time") {
  const Grouping groups = make_grouping(4, 2, true, {});
  CHECK(&table_of(pingpong, groups, Multi::off).format() == &tables::time_and_bandwidth);
  CHECK(&table_of(pingpong, groups, Multi::each_group).format() == &tables::time_and_bandwidth);
  CHECK(&table_of(pingpong, groups, Multi::summary).format() == &tables::range_and_bandwidth);
  CHECK(&table_of(uniband, groups, Multi::summary).format() == &tables::rate);
}

TEST_CASE("extremes and mean over the ranks, and who was slowest") {
  const Row row = only_row(table_of(bcast, make_grouping(4, 4, false, {})), 8, {2.0, 1.0, 4.0, 3.0});
  CHECK(row[Figure::time_min] == 1.0);
  CHECK(row[Figure::time_max] == 4.0);
  CHECK(row[Figure::time_avg] == 2.5);
  CHECK(row.slowest.rank == 2);
  CHECK_FALSE(row.has(Figure::bytes_per_second));
  CHECK_FALSE(row.has(Figure::messages_per_second));
  CHECK_FALSE(row.defects);
  CHECK_FALSE(row.tail);
  CHECK(row.repetition_seconds.empty());
}

TEST_CASE("ranks that wait do not count") {
  const Row row = only_row(table_of(bcast, make_grouping(4, 2, false, {})), 8, {2.0, 3.0, 0.0, 9.0});
  CHECK(row[Figure::time_min] == 2.0);
  CHECK(row[Figure::time_max] == 3.0);
  CHECK(row[Figure::time_avg] == 2.5);
}

TEST_CASE("one process alone") {
  const Row row = only_row(table_of(bcast, make_grouping(1, 1, false, {})), 8, {5.0});
  CHECK((row[Figure::time_min] == 5.0 && row[Figure::time_max] == 5.0 && row[Figure::time_avg] == 5.0 &&
         row.slowest.rank == 0));
}

TEST_CASE("the time factor applies to every time, and so to the throughput") {
  const Row row = only_row(table_of(pingpong, make_grouping(3, 2, false, {})), 100, {4.0, 8.0, 99.0});
  CHECK(row[Figure::time_min] == 2.0);
  CHECK(row[Figure::time_max] == 4.0);
  CHECK(row[Figure::time_avg] == 3.0);
  CHECK(row[Figure::bytes_per_second] == 25.0);
  CHECK_FALSE(row.has(Figure::messages_per_second));
}

TEST_CASE("throughput counts messages in and out and follows from the largest time") {
  const Row row = only_row(table_of(sendrecv, make_grouping(4, 4, false, {})), 1000, {1.0, 1.0, 2.0, 1.0});
  CHECK(row[Figure::bytes_per_second] == 1000.0);
  CHECK(only_row(table_of(sendrecv, make_grouping(2, 2, false, {})), 0,
                 {1.0, 2.0})[Figure::bytes_per_second] == 0.0);
}

TEST_CASE("a benchmark without throughput has none in its row") {
  CHECK_FALSE(only_row(table_of(barrier, make_grouping(2, 2, false, {})), 0, {1.0, 2.0})
                  .has(Figure::bytes_per_second));
}

TEST_CASE("a clock that shows no time gives no infinite throughput") {
  CHECK(only_row(table_of(sendrecv, make_grouping(2, 2, false, {})), 8,
                 {0.0, 0.0})[Figure::bytes_per_second] == 0.0);
}

TEST_CASE("-multi 0: one row over all groups") {
  const Table table = table_of(pingpong, make_grouping(5, 2, true, {}), Multi::summary);
  const Row row = only_row(table, 16, {2.0, 4.0, 6.0, 16.0, 99.0});
  CHECK(row[Figure::time_min] == 1.0);
  CHECK(row[Figure::time_max] == 8.0);
  CHECK(row[Figure::time_avg] == 3.5);
  CHECK(row.slowest.rank == 3);
  CHECK(row[Figure::bytes_per_second] == 2.0);
}

TEST_CASE("-multi 1: a row per group") {
  const Table table = table_of(sendrecv, make_grouping(4, 2, true, {}), Multi::each_group);
  const std::vector<Row> rows = rows_of(table, 8, window, std::vector<double>{1.0, 2.0, 8.0, 4.0});
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].group == 0 && rows[1].group == 1));
  CHECK((rows[0][Figure::time_min] == 1.0 && rows[0][Figure::time_max] == 2.0 &&
         rows[0][Figure::time_avg] == 1.5));
  CHECK((rows[1][Figure::time_min] == 4.0 && rows[1][Figure::time_max] == 8.0 &&
         rows[1][Figure::time_avg] == 6.0));
  CHECK((rows[0].slowest.rank == 1 && rows[1].slowest.rank == 2));
  CHECK(rows[0][Figure::bytes_per_second] == 8.0);
  CHECK(rows[1][Figure::bytes_per_second] == 2.0);
}

TEST_CASE("-multi 1 with one group also has the group's index") {
  const Table table = table_of(bcast, make_grouping(2, 2, true, {}), Multi::each_group);
  const std::vector<Row> rows = rows_of(table, 8, window, std::vector<double>{1.0, 2.0});
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].group == 0);
}

TEST_CASE("with a map, times are found by world rank") {
  const Table table =
      table_of(sendrecv, make_grouping(4, 2, true, Map{.rows = 2, .columns = 2}), Multi::each_group);
  REQUIRE(table.grouping.groups == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
  const std::vector<Row> rows = rows_of(table, 8, window, std::vector<double>{1.0, 10.0, 2.0, 20.0});
  REQUIRE(rows.size() == 2);
  CHECK((rows[0][Figure::time_max] == 2.0 && rows[0].slowest.rank == 2));
  CHECK((rows[1][Figure::time_max] == 20.0 && rows[1].slowest.rank == 3));
}

TEST_CASE("message rates are sums over the pairs of a group") {
  const Row one_way = only_row(table_of(uniband, make_grouping(4, 4, false, {})), 10, {1.0, 1.0, 2.0, 1.0});
  CHECK(one_way[Figure::messages_per_second] == 256.0);
  CHECK(one_way[Figure::bytes_per_second] == 2560.0);
  const Row both_ways = only_row(table_of(biband, make_grouping(4, 4, false, {})), 10, {1.0, 1.0, 2.0, 1.0});
  CHECK(both_ways[Figure::messages_per_second] == 512.0);
  CHECK(both_ways[Figure::bytes_per_second] == 5120.0);
}

TEST_CASE("an odd last process has no pair") {
  const double none = std::nan("");
  const Row row = only_row(table_of(uniband, make_grouping(5, 5, false, {})), 0, {1.0, 1.0, 1.0, 1.0, none});
  CHECK(row[Figure::messages_per_second] == 512.0);
  CHECK(row[Figure::bytes_per_second] == 0.0);
}

TEST_CASE("rates count the processes that took part, not all processes of the group") {
  const double none = std::nan("");
  const std::vector<double> seconds{1.0, none, 2.0, none, 1.0, none, 2.0, none};
  for (const bool in_flight : {false, true}) {
    const Spec pairs{.name = "Multi_pair",
                     .kind = Kind::parallel_transfer,
                     .table = &tables::mean_and_rate,
                     .message_rate = in_flight,
                     .sent = 0.5,
                     .in_pairs = true,
                     .max_pairs = 4};
    const double messages = in_flight ? window : 1;
    const Row all = only_row(table_of(pairs, make_grouping(8, 8, false, {})), 10, seconds);
    CHECK(all.participants == 4);
    CHECK(all[Figure::messages_per_second] == 0.5 * 4 * messages / 2.0);
    const Table groups = table_of(pairs, make_grouping(8, 4, true, {}), Multi::each_group);
    for (const Row& row : rows_of(groups, 10, window, seconds)) {
      CHECK(row[Figure::messages_per_second] == 0.5 * 2 * messages / 2.0);
    }
    const Table together = table_of(pairs, make_grouping(8, 4, true, {}), Multi::summary);
    CHECK(only_row(together, 10, seconds)[Figure::messages_per_second] == 0.5 * 2 * messages / 2.0);
  }
  const Row one_pair =
      only_row(table_of(uniband, make_grouping(4, 4, false, {})), 10, {1.0, none, none, 2.0});
  CHECK(one_pair[Figure::messages_per_second] == window / 2.0);
}

TEST_CASE("with groups the message rate is the rate of the slowest group") {
  const Table table = table_of(uniband, make_grouping(4, 2, true, {}), Multi::summary);
  CHECK(only_row(table, 1, {1.0, 1.0, 1.0, 2.0})[Figure::messages_per_second] == 128.0);
}

TEST_CASE("quantiles are measured values, by nearest rank") {
  std::vector<double> samples(1000);
  std::iota(samples.begin(), samples.end(), 1.0);
  std::ranges::reverse(samples);
  const Tail tail = tail_of(samples);
  CHECK(tail == Tail{1, 100, 250, 500, 750, 900, 950, 990, 995, 999, 1000, 1000});
}

TEST_CASE("quantiles of few repetitions") {
  std::vector<double> one{7.0};
  Tail all_same{};
  all_same.fill(7.0);
  CHECK(tail_of(one) == all_same);
  std::vector<double> two{2.0, 1.0};
  CHECK(tail_of(two) == Tail{1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2});
}

TEST_CASE("a multiple transfer counts every target, and only the origin has a time") {
  const double none = std::nan("");
  const Spec one_put_all{.name = "One_put_all", .kind = Kind::multiple_transfer};
  const Row row = only_row(table_of(one_put_all, make_grouping(4, 4, false, {})), 8, {2.0, none, none, none});
  CHECK(row[Figure::time_min] == 2.0);
  CHECK(row[Figure::time_max] == 2.0);
  CHECK(row[Figure::time_avg] == 2.0);
  CHECK(row.slowest.rank == 0);
  CHECK(row[Figure::bytes_per_second] == 8 * 3 / 2.0);
}

TEST_CASE("the time while the target computes is a separate figure") {
  const double none = std::nan("");
  const Spec spec{.name = "Truly_passive_put",
                  .kind = Kind::single_transfer,
                  .table = &tables::passive,
                  .one_sided = {.computing_target = true}};
  const Table table = table_of(spec, make_grouping(4, 2, true, {}), Multi::each_group);
  const std::vector<Row> rows = rows_of(table, 8, window, std::vector<double>{1.0, none, 2.0, none},
                                        {.t_ovrl = {3.0, none, 2.5, none}, .t_cpu = {}});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][Figure::time_max] == 1.0);
  CHECK(rows[0][Figure::time_overlapped] == 3.0);
  CHECK(rows[1][Figure::time_max] == 2.0);
  CHECK(rows[1][Figure::time_overlapped] == 2.5);
  CHECK_FALSE(rows[0].has(Figure::bytes_per_second));
}

TEST_CASE("overlap is the hidden share of the shorter time") {
  CHECK(overlap_percent(2, 2, 4) == 0);    // one after the other
  CHECK(overlap_percent(2, 2, 2) == 100);  // all at once
  CHECK(overlap_percent(2, 2, 3) == 50);
  CHECK(overlap_percent(2, 4, 5) == 50);  // of the shorter one, half
  CHECK(overlap_percent(4, 2, 5) == 50);
  CHECK(overlap_percent(2, 2, 9) == 0);    // never below
  CHECK(overlap_percent(2, 2, 1) == 100);  // nor above
  CHECK(overlap_percent(0, 2, 2) == 0);    // nothing to hide
  CHECK(overlap_percent(2, 0, 2) == 0);
  CHECK(overlap_percent(std::nan(""), 2, 2) == 0);
}

TEST_CASE("the figures of overlap come from the rank with the largest t_ovrl") {
  const Spec spec{.name = "Ibcast", .table = &tables::overlap, .overlap = Overlap::matched};
  const OverlapTimes computing{.t_ovrl = {5.0, 7.0, 6.0, 1.0}, .t_cpu = {3.0, 4.0, 3.5, 0.5}};
  const std::vector<double> pure{6.0, 5.0, 2.0, 1.0};
  const Row row = rows_of(table_of(spec, make_grouping(4, 4, false, {})), 8, window, pure, computing).at(0);
  CHECK(row[Figure::time_max] == 6.0);
  CHECK(row[Figure::time_overlapped] == 7.0);
  CHECK(row[Figure::time_pure] == 5.0);
  CHECK(row[Figure::time_cpu] == 4.0);
  CHECK(row[Figure::overlap_percent] == 50);
  const Table groups = table_of(spec, make_grouping(4, 2, true, {}), Multi::each_group);
  const std::vector<Row> rows = rows_of(groups, 8, window, pure, computing);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][Figure::time_overlapped] == 7.0);
  CHECK(rows[1][Figure::time_overlapped] == 6.0);
  CHECK(rows[1][Figure::time_pure] == 2.0);
  CHECK(rows[1][Figure::overlap_percent] == 0);
}

TEST_CASE("the mean of segments leaves out the slowest and the fastest tenth") {
  CHECK(trimmed_mean({3.0}) == 3.0);
  CHECK(trimmed_mean({1.0, 2.0, 6.0}) == 3.0);
  std::vector<double> parts(20, 2.0);
  parts[3] = 1000.0;
  parts[7] = 900.0;
  parts[11] = 0.0;
  CHECK(trimmed_mean(parts) == 2.0);
  parts[12] = 20.0;  // a third one counts
  CHECK(trimmed_mean(parts) == Approx(2.0 + 18.0 / 16));
}
