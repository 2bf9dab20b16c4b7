// IMB-MT without MPI: the team of threads, its batch and its turns, and the plan and the figures of its
// benchmarks.
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "cli/command_line.h"
#include "engine/team_batch.h"
#include "plan/groups.h"
#include "plan/schedule.h"
#include "result/statistics.h"

using namespace openimb;

namespace {

constexpr Spec pingpong{
    .name = "PingPongMT", .kind = Kind::parallel_transfer, .time_factor = 0.5, .threaded = true};
constexpr Spec uniband{.name = "UniBandMT",
                       .kind = Kind::parallel_transfer,
                       .table = &tables::message,
                       .messages_per_process = 2,
                       .threaded = true,
                       .message_rate = true};
constexpr Spec barrier{.name = "BarrierMT",
                       .kind = Kind::synchronization,
                       .send = Messages::none,
                       .receive = Messages::none,
                       .threaded = true};

// The batch of one thread, which takes `seconds` and records its calls.
class Member final : public Batch {
 public:
  Member(double seconds, std::function<void()> work = {}) : seconds_(seconds), work_(std::move(work)) {}
  double run(std::int64_t repetitions, Timing, std::span<double> samples) override {
    for (std::int64_t i = 0; i < repetitions && work_; ++i) work_();
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = seconds_ * static_cast<double>(i + 1);
    return seconds_ * static_cast<double>(repetitions);
  }
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t repetitions) override { return repetitions; }
  bool takes_part() const override { return true; }

 private:
  double seconds_;
  std::function<void()> work_;
};

std::vector<std::unique_ptr<Batch>> members(std::initializer_list<double> seconds) {
  std::vector<std::unique_ptr<Batch>> all;
  for (const double each : seconds) all.push_back(std::make_unique<Member>(each));
  return all;
}

Options parsed(const std::vector<std::string>& words, int world = 4) {
  static constexpr Spec catalog[] = {pingpong, uniband, barrier};
  const Program program{"IMB-MT", "MT part", catalog, thread_defaults};
  return parse(program, words, world, {});
}

TablePlan planned(const Spec& spec, Options options, int ranks = 4) {
  static std::vector<Spec> catalog;
  catalog = {spec};
  static Options kept;
  kept = std::move(options);
  kept.selection = {{.index = 0}};
  static const std::optional<OffCache> no_cache;
  const Schedule schedule(catalog, kept, ranks, no_cache, true);
  REQUIRE(schedule.tables().size() == 1);
  return schedule.plan(schedule.tables().front());
}

Table table_of(const Spec& spec, int processes, int threads) {
  Table table{.spec = spec, .grouping = make_grouping(processes, processes, false, {})};
  table.grouping.threads = threads;
  return table;
}

}  // namespace

TEST_CASE("a team runs work on every thread, the main thread included") {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    CHECK(team.threads() == threads);
    std::mutex mutex;
    for (int round = 0; round < 20; ++round) {
      std::set<int> numbers;
      std::set<std::thread::id> ids;
      team.run([&](int thread) {
        const std::lock_guard lock(mutex);
        numbers.insert(thread);
        ids.insert(std::this_thread::get_id());
        if (thread == 0) CHECK(std::this_thread::get_id() != std::thread::id());
      });
      CHECK(numbers.size() == static_cast<std::size_t>(threads));
      CHECK(ids.size() == static_cast<std::size_t>(threads));
      CHECK(ids.contains(std::this_thread::get_id()));
    }
  }
}

TEST_CASE("each thread first calls the function that the team gets") {
  std::atomic<int> begun{0};
  const ThreadTeam team(4, [&](int thread) { begun += 1 << thread; });
  CHECK(begun == 15);
}

TEST_CASE("a team can meet repeatedly, and no thread runs ahead") {
  constexpr int threads = 4, meetings = 200;
  ThreadTeam team(threads);
  std::atomic<int> before{0};
  std::atomic<int> ahead{0};
  team.run([&](int) {
    for (int i = 1; i <= meetings; ++i) {
      ++before;
      team.barrier();
      if (before < i * threads) ++ahead;
      team.barrier();
    }
  });
  CHECK(ahead == 0);
  CHECK(before == threads * meetings);
}

TEST_CASE("in a round every thread runs once before thread 0 continues") {
  for (const int threads : {1, 2, 5}) {
    constexpr int rounds_each = 40, batches = 3;
    ThreadTeam team(threads);
    Rounds rounds(threads);
    std::atomic<int> shares{0};
    int late = 0, served = 0;
    for (int batch = 0; batch < batches; ++batch) {
      rounds.reset();
      team.run([&](int thread) {
        if (thread > 0) return rounds.serve([&] { ++shares; });
        for (int round = 0; round < rounds_each; ++round) {
          rounds.begin();
          ++shares;
          rounds.await();
          if (shares != ++served * threads) ++late;
        }
        rounds.end();
      });
    }
    CHECK(late == 0);
    CHECK(shares == batches * rounds_each * threads);
  }
}

TEST_CASE("turns go round in the order of threads") {
  constexpr int threads = 3, rounds = 50;
  ThreadTeam team(threads);
  Turn turn(threads);
  std::vector<int> order;  // protected only by the turn
  for (int batch = 0; batch < 2; ++batch) {
    team.run([&](int thread) {
      for (int i = 0; i < rounds; ++i) {
        turn.await(thread);
        order.push_back(thread);
        turn.pass(thread);
      }
    });
  }
  REQUIRE(order.size() == 2 * threads * rounds);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<int>(i % threads));
}

TEST_CASE("a batch of threads takes as long as the slowest thread, and has the time of each") {
  ThreadTeam team(3);
  int met = 0;
  TeamBatch batch(team, members({2, 5, 3}), nullptr, [&] { ++met; });
  CHECK(batch.run(10, Timing::total, {}) == 50);
  const auto each = batch.thread_seconds();
  CHECK(std::vector(each.begin(), each.end()) == std::vector<double>{20, 50, 30});
  std::vector<double> samples(2);
  batch.run(2, Timing::every_repetition, samples);
  CHECK(samples == std::vector<double>{5, 10});
  CHECK(met == 2);
  CHECK(batch.check(4) == 12);
  CHECK(batch.takes_part());
}

TEST_CASE("threads start when the ranks have met") {
  ThreadTeam team(3);
  std::atomic<bool> met{false};
  std::atomic<int> early{0};
  std::vector<std::unique_ptr<Batch>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Member>(1, [&] { early += met ? 0 : 1; }));
  }
  TeamBatch batch(team, std::move(all), nullptr, [&] { met = true; });
  batch.run(5, Timing::total, {});
  CHECK(early == 0);
}

TEST_CASE("a length counts the messages of all threads together") {
  Options options = parsed({"-count", "1,64"});
  options.threads.count = 4;
  const TablePlan plan = planned(pingpong, options);
  REQUIRE(plan.points.size() == 2);
  CHECK((plan.points[0].bytes == 16 && plan.points[1].bytes == 1024));
  CHECK(plan.points[1].geometry.elements == 64);
  CHECK(plan.points[1].needed_bytes == 4 * plan.points[1].geometry.total());
  CHECK(plan.table.grouping.threads == 4);
  options.threads.count = 1;
  const TablePlan one = planned(pingpong, options);
  CHECK((one.points[0].bytes == 4 && one.table.grouping.threads == 1));
  CHECK(one.points[1].planned == plan.points[1].planned);
}

TEST_CASE("threads that mark partitions share a message and have one time") {
  constexpr Spec spec{.name = "Partitioned_PingPong", .kind = Kind::single_transfer, .partitioned = true};
  Options options;
  options.selection = {{.index = 0}};
  options.lengths = {64};
  options.threads.count = 4;
  const std::optional<OffCache> none;
  const Schedule schedule(std::span(&spec, 1), options, 4, none, true);
  const TablePlan plan = schedule.plan(schedule.tables().front());
  CHECK((plan.table.grouping.threads == 4 && plan.table.timed_threads() == 1));
  REQUIRE(plan.points.size() == 1);
  CHECK((plan.points[0].bytes == 64 && plan.points[0].geometry.elements == 64));
  CHECK(plan.points[0].needed_bytes == plan.points[0].geometry.total());
}

TEST_CASE("IMB-MT has its own lengths, data types and process counts") {
  const Options options = parsed({});
  CHECK(options.counts == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK((options.data.type == DataType::integer && options.reduction.type == DataType::integer));
  CHECK((options.in_flight == 64 && options.settings.warm_up_repetitions == 100));
  CHECK(planned(pingpong, options).table.grouping.processes == 4);
  CHECK(parsed({"-msglog", "3:4"}).counts.empty());
  CHECK(parsed({"-set", "MAXMSGLOG=3"}).counts.empty());
  CHECK(parsed({"-threads", "2"}).thread_level == ThreadLevel::multiple);
  CHECK(parsed({"-threads", "2", "-thread_level", "serialized"}).thread_level == ThreadLevel::serialized);
  CHECK(parsed({"-threads", "1"}).thread_level == ThreadLevel::single);
  CHECK(requested_thread_level(std::vector<std::string>{"-threads", "2", "x"}) == ThreadLevel::multiple);
  CHECK((parsed({"-check"}).check && !parsed({"-check", "off"}).check));
}

TEST_CASE("the message rate uses the mean time, and the throughput the slowest time") {
  const Table table = table_of(uniband, 2, 2);
  CHECK(&table.format() == &tables::message);
  const Measurement found = measurement_of(table, 64, 10, 4, {.seconds = {8, 16, 24, 32}});
  const Row& row = found.rows.at(0);
  CHECK((row[Figure::time_min] == 1 && row[Figure::time_max] == 4 && row[Figure::time_avg] == 2.5));
  CHECK(row.thread_seconds == std::vector<double>{3, 4});
  CHECK(row[Figure::messages_per_second] == Approx(2 / 2.5));
  CHECK(row[Figure::bytes_per_second] == 16);
}

TEST_CASE("rates count the pairs that took part, also with -stride") {
  const double none = std::nan("");
  // -stride 3 on 8 processes: 0 and 3, 1 and 4, 2 and 5; 6 and 7 have no partner.
  const Table table = table_of(uniband, 8, 1);
  const std::vector<double> seconds{16, 16, 16, 16, 16, 16, none, none};
  const Row row = measurement_of(table, 64, 10, 4, {.seconds = seconds}).rows.at(0);
  CHECK(row[Figure::time_avg] == 2);
  CHECK(row.participants == 6);
  CHECK(row[Figure::messages_per_second] == Approx(3 / 2.0));
  CHECK(row[Figure::bytes_per_second] == Approx(3 * 64 / 2.0));
}

TEST_CASE("a length whose threads need more memory than a number can hold is out of memory") {
  const auto point_of = [](const Spec& spec, const std::vector<std::string>& words) {
    Options options = parsed(words);
    options.threads.count = *options.threads.asked;
    return planned(spec, options).points.at(0);
  };
  const Spec alltoall{
      .name = "AlltoallMT", .send = Messages::per_rank, .receive = Messages::per_rank, .threaded = true};
  for (const Point& point : {point_of(pingpong, {"-threads", "4", "-msgsize", "4294967296g"}),
                             point_of(alltoall, {"-threads", "16", "-msgsize", "268435456g"}),
                             point_of(alltoall, {"-threads", "4096", "-count", "18014398509481984"})}) {
    REQUIRE(point.failure);
    CHECK(point.failure->cause == Failure::Cause::out_of_memory);
    CHECK(point.bytes >= (std::int64_t{1} << 62));
    CHECK(point.failure->needed_bytes > (std::int64_t{1} << 62));
  }
}

TEST_CASE("with one thread there are no times of threads") {
  const Row row = measurement_of(table_of(pingpong, 2, 1), 8, 10, 4, {.seconds = {2, 4}}).rows.at(0);
  CHECK((row[Figure::time_max] == 2 && row.thread_seconds.empty()));
  CHECK(row[Figure::bytes_per_second] == 4);
}
