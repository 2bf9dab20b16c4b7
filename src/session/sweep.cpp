// IMB-FABRIC: rounds of pairs of endpoints. A pass runs all rounds in random order; a round runs all
// benchmarks and lengths. Each pair's times go to the reporter at once, so that no rank holds more than one
// round. docs/architecture.md has the reasons.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/launch_progress.h"
#include "session/point_run.h"

namespace openimb {

namespace {

/// A benchmark, open for all rounds.
struct SweepTable {
  explicit SweepTable(TablePlan table_plan) : plan(std::move(table_plan)), round_plan(plan) {}
  const TablePlan plan;  ///< all endpoints are one group
  TablePlan round_plan;  ///< each pair that is measured at the same time is a group with its own row
  std::unique_ptr<OpenTable> open;
  std::optional<Failure> failure;
};

class Sweeps {
 public:
  explicit Sweeps(const SessionContext& context)
      : context_(context),
        fabric_(*context.options.fabric),
        plan_(fabric_, static_cast<int>(fabric_.ranks.size())),
        progress_(context),
        start_(context.host.now()),
        lost_(fabric_.ranks.size()) {}
  Ending run();

 private:
  void open_tables();
  void run_pass();
  void run_round(int round, const EndpointPairs& pairs);
  void run_point(SweepTable& table, Point point, int round, EndpointPairs pairs);
  void set_groups(SweepTable& table, const EndpointPairs& pairs) const;
  void report_failed(const SweepTable& table, const Failure& failure, int round, const EndpointPairs& pairs);
  EndpointPairs remove_lost_pairs(const SweepTable& table, const Point& point, int round,
                                  const EndpointPairs& pairs);
  void mark_lost(const UnresponsiveRanks& lost);
  bool is_lost(int endpoint) const { return !lost_[static_cast<std::size_t>(endpoint)].empty(); }
  bool too_few_endpoints() const { return std::ranges::count(lost_, std::string()) < 2; }
  std::vector<std::vector<int>> readers_of(const EndpointPairs& pairs) const;
  void measure(SweepTable& table, const Point& point, int round, const EndpointPairs& pairs);
  void report(const SweepTable& table, const Measurement& measurement, int round, const EndpointPairs& pairs);
  PairSample sample_of(const Row& row, EndpointPair pair) const;
  bool must_end();
  void report_tables();
  void report_rest(const SweepTable& table, std::int64_t bytes, int round,
                   const std::optional<EndpointPair>& pair);
  int endpoint() const;
  int rank_of(int endpoint) const { return fabric_.ranks[static_cast<std::size_t>(endpoint)]; }
  bool reports() const { return context_.world.rank() == 0; }
  double elapsed() const { return context_.host.now() - start_; }

  const SessionContext& context_;
  const FabricOptions& fabric_;
  const RoundPlan plan_;
  LaunchProgress progress_;
  const double start_;
  int pass_ = 0, round_ = 0;
  std::vector<std::string> lost_;  ///< by endpoint: why it is lost; empty if it responds
  bool budget_spent_ = false;
  std::vector<std::unique_ptr<SweepTable>> tables_;
};

Ending Sweeps::run() {
  open_tables();
  const Passes passes = context_.options.passes.value_or(Passes{.most = 1, .precision = {}, .budget = {}});
  const int most = passes.most.value_or(std::numeric_limits<int>::max());
  while (pass_ < most && !too_few_endpoints() && !must_end()) {
    ++pass_;
    run_pass();
  }
  context_.host.set_abort_report({});
  report_tables();
  return progress_.ending();
}

// Opens all tables before the first round, so that no round includes the cost of creating communicators.
void Sweeps::open_tables() {
  for (const TableKey& key : context_.schedule.tables()) {
    if (must_end()) return;
    SweepTable& table = *tables_.emplace_back(std::make_unique<SweepTable>(context_.schedule.plan(key)));
    const ActivityScope opening(context_.host, table.plan.table);
    table.failure = table.plan.failure;
    try {
      if (!table.failure) table.open = context_.resources.open(table.plan);
      if (!table.failure) table.failure = table.open->failure();
    } catch (const UnresponsiveRanks& lost) {
      mark_lost(lost);
      table.failure = {.cause = Failure::Cause::no_answer, .detail = "a rank does not answer"};
    }
    table.round_plan.table.multi = Multi::each_group;
    table.round_plan.table.grouping.processes = 2;
  }
}

void Sweeps::run_pass() {
  for (const int round : plan_.order(pass_)) {
    round_ = round;
    const EndpointPairs pairs = plan_.pairs(round, pass_);
    if (!fabric_.serial) {
      if (must_end()) return;
      run_round(round, pairs);
      continue;
    }
    for (const EndpointPair& pair : pairs) {
      if (must_end()) return;
      run_round(round, {pair});
    }
  }
}

void Sweeps::run_round(int round, const EndpointPairs& pairs) {
  for (const auto& table : tables_) {
    if (table->failure) continue;
    for (const Point& point : table->plan.points) run_point(*table, point, round, pairs);
  }
}

void Sweeps::set_groups(SweepTable& table, const EndpointPairs& pairs) const {
  std::vector<std::vector<int>>& groups = table.round_plan.table.grouping.groups;
  groups.clear();
  for (const auto& [a, b] : pairs) groups.push_back({rank_of(a), rank_of(b)});
}

// Skips a point that cannot be measured: report_tables() writes its one failure row. When ranks stop
// responding, measures the remaining pairs again.
void Sweeps::run_point(SweepTable& table, Point point, int round, EndpointPairs pairs) {
  if (point_failure(context_, *table.open, point)) return;
  for (;;) {
    pairs = remove_lost_pairs(table, point, round, pairs);
    if (pairs.empty()) return;
    const RoundPartners round_partners = plan_.round_partners(pairs, endpoint());
    point.round_partners = &round_partners;
    set_groups(table, pairs);
    const int mine = endpoint();
    const auto pair = std::ranges::find_if(
        pairs, [mine](const EndpointPair& candidate) { return candidate.a == mine || candidate.b == mine; });
    const std::optional<EndpointPair> own_pair = pair == pairs.end() ? std::nullopt : std::optional(*pair);
    context_.host.set_abort_report(
        [this, &table, bytes = point.bytes, round, own_pair] { report_rest(table, bytes, round, own_pair); });
    try {
      return measure(table, point, round, pairs);
    } catch (const PointError& failed) {
      return report_failed(table, failed.failure, round, pairs);
    } catch (const UnresponsiveRanks& lost) {
      mark_lost(lost);
    }
  }
}

void Sweeps::report_failed(const SweepTable& table, const Failure& common, int round,
                           const EndpointPairs& pairs) {
  Table pair_table = table.round_plan.table;
  pair_table.multi = Multi::off;
  for (const EndpointPair& pair : pairs) {
    pair_table.grouping.groups = {{rank_of(pair.a), rank_of(pair.b)}};
    Failure failure = common;
    failure.pair = {pass_, round, pair};
    progress_.report(pair_table, failure);
  }
}

// Removes the pairs of lost endpoints and reports a failure for each.
EndpointPairs Sweeps::remove_lost_pairs(const SweepTable& table, const Point& point, int round,
                                        const EndpointPairs& pairs) {
  EndpointPairs left;
  for (const EndpointPair& pair : pairs) {
    if (!is_lost(pair.a) && !is_lost(pair.b)) {
      left.push_back(pair);
      continue;
    }
    const int lost = is_lost(pair.b) ? pair.b : pair.a;
    report_failed(table,
                  {.cause = Failure::Cause::no_answer,
                   .bytes = point.bytes,
                   .detail = lost_[static_cast<std::size_t>(lost)]},
                  round, {pair});
  }
  return left;
}

void Sweeps::mark_lost(const UnresponsiveRanks& lost) {
  const std::string since = pass_ == 0
                                ? "before the first pass"
                                : "since pass " + std::to_string(pass_) + ", round " + std::to_string(round_);
  for (const int rank : lost.ranks) {
    const auto position = std::ranges::find(fabric_.ranks, rank);
    if (position == fabric_.ranks.end()) continue;
    const auto endpoint = position - fabric_.ranks.begin();
    lost_[static_cast<std::size_t>(endpoint)] =
        "endpoint " + std::to_string(endpoint) + " does not answer, " + since;
  }
}

// A pair has only the counters of its own hosts. With the counters of all hosts, a round would have N * N
// values.
std::vector<std::vector<int>> Sweeps::readers_of(const EndpointPairs& pairs) const {
  std::vector<std::vector<int>> readers;
  if (!reports()) return readers;
  const std::vector<int>& by_endpoint = fabric_.readers.empty() ? fabric_.ranks : fabric_.readers;
  for (const auto& [a, b] : pairs) {
    const int first = by_endpoint[static_cast<std::size_t>(a)],
              second = by_endpoint[static_cast<std::size_t>(b)];
    readers.push_back(first == second ? std::vector{first} : std::vector{first, second});
  }
  return readers;
}

void Sweeps::measure(SweepTable& table, const Point& point, int round, const EndpointPairs& pairs) {
  PointRun run(context_, table.round_plan, *table.open, point,
               {.sampling = context_.schedule.sampling(table.round_plan, point),
                .stopping = [] { return false; },
                .check = context_.options.check && pass_ == 1,
                .readers = readers_of(pairs)});
  const std::optional<Measurement> measurement = run.measure();
  if (!measurement) return;
  progress_.count_defects(*measurement);
  progress_.ending().measured += std::ssize(pairs);
  if (!reports()) return;
  report(table, *measurement, round, pairs);
  context_.host.progress(progress_.ending());
}

void Sweeps::report(const SweepTable& table, const Measurement& measurement, int round,
                    const EndpointPairs& pairs) {
  std::vector<PairSample> samples;
  const double at = elapsed();
  for (const Row& row : measurement.rows) {
    PairSample& sample = samples.emplace_back(sample_of(row, pairs[static_cast<std::size_t>(row.group)]));
    sample.place.pass = pass_;
    sample.place.round = round;
    sample.bytes = measurement.bytes;
    sample.repetitions = measurement.repetitions;
    sample.at = at;
  }
  context_.reporter.pairs(table.plan.table, samples);
}

// The time of a hub (endpoint a) covers all its pairs, so a pair has the time of its other endpoint.
PairSample Sweeps::sample_of(const Row& row, EndpointPair pair) const {
  const bool a_is_slower = row.slowest.rank == rank_of(pair.a);
  PairSample sample{.place = {.pair = pair},
                    .seconds_of_a = a_is_slower ? row[Figure::time_max] : row[Figure::time_min],
                    .seconds_of_b = a_is_slower ? row[Figure::time_min] : row[Figure::time_max],
                    .defects = row.defects,
                    .evidence = row.evidence};
  sample.seconds = plan_.has_hub() ? sample.seconds_of_b : row[Figure::time_max];
  return sample;
}

bool Sweeps::must_end() {
  const std::optional<Passes>& passes = context_.options.passes;
  const bool over_budget = reports() && passes && passes->budget && elapsed() > *passes->budget;
  for (;;) {
    try {
      const bool ends = budget_spent_ || progress_.agree_to_stop(over_budget);
      budget_spent_ = ends && !progress_.interrupted();
      return ends;
    } catch (const UnresponsiveRanks& lost) {
      mark_lost(lost);
    }
  }
}

// The watchdog thread calls this when rank 0 waits for its partner and thus all other ranks wait for rank 0.
void Sweeps::report_rest(const SweepTable& table, std::int64_t bytes, int round,
                         const std::optional<EndpointPair>& pair) {
  if (pair) {
    const int partner = pair->a == endpoint() ? pair->b : pair->a;
    report_failed(table,
                  {.cause = Failure::Cause::no_answer,
                   .bytes = bytes,
                   .detail = "endpoint " + std::to_string(partner) + " does not answer; rank 0 waits for it"},
                  round, {*pair});
  }
  report_tables();
}

void Sweeps::report_tables() {
  for (const auto& table : tables_) {
    if (table->failure) {
      progress_.report(table->plan.table, *table->failure);
      continue;
    }
    if (reports()) context_.reporter.open_table(table->plan.table);
    for (const Point& point : table->plan.points) {
      if (const auto failure = point_failure(context_, *table->open, point)) {
        progress_.report(table->plan.table, *failure);
      }
    }
    if (reports()) context_.reporter.close_table(table->plan.table);
  }
}

// Returns the endpoint of this rank, or -1 if it has none.
int Sweeps::endpoint() const {
  const auto position = std::ranges::lower_bound(fabric_.ranks, context_.world.rank());
  const bool is_endpoint = position != fabric_.ranks.end() && *position == context_.world.rank();
  return is_endpoint ? static_cast<int>(position - fabric_.ranks.begin()) : -1;
}

}  // namespace

Ending run_sweeps(const SessionContext& context) { return Sweeps(context).run(); }

}  // namespace openimb
