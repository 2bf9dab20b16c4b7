// A launch in passes measures the whole selection repeatedly, one sample of each point per pass, until the
// results have the precision or the budget is spent. Each sample lies between two probes of the machine.
// Variants of a table alternate at each point. Tables stay open; their rows are reported at the end.
// docs/architecture.md has the reasons.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "result/passes.h"
#include "session/launch_progress.h"
#include "session/point_run.h"

namespace openimb {

namespace {

// The number of probes to which the states of the machine are fitted.
constexpr std::size_t fitted_for_judgment = 400, fitted_for_report = 1000, fitted_when_interrupted = 200;

/// A point over all passes. Only rank 0 has `rows` and `was_within`. `cost` is this rank's own. All other
/// members are equal on all ranks.
struct PassPoint {
  const Point* point = nullptr;
  int first_row = 0;
  std::int64_t completed = 0;  ///< repetitions measured
  double seconds_each = 0;     ///< seconds of one repetition, from update_seconds_each()
  double cost = 0;             ///< seconds of the last sample with its checks and probes, on this rank
  int samples = 0;
  bool done = false;
  std::int64_t valid = 0;       ///< valid repetitions, with -sync_start clock
  bool given_up = false;        ///< too few repetitions were valid
  std::optional<double> width;  ///< of -arrival, in seconds, once it is known
  bool was_within = false;      ///< whether the last judgment found it within the precision
  std::optional<Failure> failure;
  std::vector<RowSeries> rows;
};

/// How the samples of tables with the same ranks are probed, and how long they are.
struct Probing {
  int exchanges = 0;  ///< per probe; 0: no probes
  double sample_seconds = 0;
};

struct PassTable {
  explicit PassTable(TablePlan table_plan) : plan(std::move(table_plan)) {}
  const TablePlan plan;
  bool begun = false;
  std::unique_ptr<OpenTable> open;
  std::optional<Failure> failure;
  Probing probing;
  std::vector<PassPoint> points;

  bool is_idle() const {
    return failure.has_value() ||
           std::ranges::all_of(points, [](const PassPoint& point) { return point.done || point.failure; });
  }
};

class PassSession {
 public:
  explicit PassSession(const SessionContext& context)
      : context_(context), passes_(*context.options.passes), progress_(context), start_(context.host.now()) {}
  Ending run();

 private:
  /// Identifies the ranks of a row: processes, groups, group.
  using Ranks = std::tuple<int, int, int>;
  static Ranks ranks_of(const PassTable& table, const RowSeries& series) {
    const Grouping& grouping = table.plan.table.grouping;
    return {grouping.processes, grouping.group_count(), series.first.group};
  }

  /// The variants of one table; a single table in a launch without variants.
  using Variants = std::span<const std::unique_ptr<PassTable>>;

  void plan();
  std::vector<Variants> group_variants() const;
  void run_pass();
  bool run_variants(Variants variants);
  void begin(PassTable& table);
  void open(PassTable& table);
  void fail_points_without_memory(PassTable& table);
  bool find_width(Variants variants, std::size_t point);
  void note_synchronization(bool unchanged);
  void run_point(PassTable& table, PassPoint& entry);
  void take_sample(PassTable& table, PassPoint& entry);
  void add_sample(PassTable& table, PassPoint& entry, PointRun& run, Measurement& measurement);
  void wait_for_turn(double seconds);
  Probing choose_probing(OpenTable& open) const;
  bool must_end(double next = 0);
  bool everything_is_measured() const;
  bool all_are_done();
  void judge();
  static void finish_variants_together(Variants variants);
  bool is_done(const PassTable& table, PassPoint& entry) const;
  void report();
  void report(PassTable& table);
  void report(const PassTable& table, PassPoint& entry);
  Measurement summary(const PassTable& table, const PassPoint& entry) const;
  void assign_states(std::size_t fitted);
  Measurement combine_passes(const PassTable& table, const PassPoint& entry) const;
  void show_progress();
  double elapsed() const { return context_.host.now() - start_ - waited_; }

  const SessionContext& context_;
  const Passes passes_;
  LaunchProgress progress_;
  const double start_;
  double waited_ = 0;          ///< seconds of waiting for other launches
  double turn_left_ = 0;       ///< seconds of samples that are left in this turn
  double judging_ = 0;         ///< seconds that the last judgment took
  double shown_ = 0;           ///< elapsed() when progress was last shown
  double sample_seconds_ = 0;  ///< seconds per sample, unless probes make samples longer
  double tick_ = 0;            ///< resolution of the coarsest clock, in seconds
  std::map<std::vector<std::vector<int>>, Probing> probing_;  ///< by the groups of a table
  int pass_ = 0;
  int next_judgment_ = 0;
  bool budget_spent_ = false;
  std::vector<PassPoint*> since_synchronized_;  ///< measured since the clocks were synchronized
  std::vector<std::unique_ptr<PassTable>> tables_;
  std::map<Ranks, MachineStates> states_;
};

Ending PassSession::run() {
  plan();
  const int most = passes_.most.value_or(std::numeric_limits<int>::max());
  while (pass_ < most && !budget_spent_ && !progress_.interrupted()) {
    ++pass_;
    run_pass();
    if (context_.world.rank() == 0) context_.host.progress(progress_.ending());
    if (budget_spent_ || progress_.interrupted() || all_are_done() || everything_is_measured()) break;
  }
  if (!since_synchronized_.empty()) note_synchronization(context_.clock->synchronize());
  Ending& ending = progress_.ending();
  ending.passes = pass_;
  ending.seconds = elapsed();
  ending.probes = std::ranges::any_of(probing_, [](const auto& entry) { return entry.second.exchanges > 0; });
  report();
  return ending;
}

void PassSession::plan() {
  std::size_t points = 0;
  int rows = 0;
  for (const TableKey& key : context_.schedule.tables()) {
    PassTable& table = *tables_.emplace_back(std::make_unique<PassTable>(context_.schedule.plan(key)));
    const bool each_group = table.plan.table.multi == Multi::each_group;
    for (const Point& point : table.plan.points) {
      table.points.push_back({.point = &point, .first_row = rows, .width = {}, .failure = {}, .rows = {}});
      rows += each_group ? table.plan.table.grouping.group_count() : 1;
    }
    points += table.points.size();
  }
  sample_seconds_ = desired_sample_seconds(passes_, points);
  tick_ = context_.world.allreduce_max(context_.host.clock_resolution());
  constexpr int first_judgment = 20;
  next_judgment_ = first_judgment;
}

// Groups the variants of each table. They follow each other and have the same points.
std::vector<PassSession::Variants> PassSession::group_variants() const {
  std::vector<Variants> all;
  for (auto first = tables_.begin(); first != tables_.end();) {
    const auto last =
        std::find_if(first + 1, tables_.end(), [](const auto& table) { return table->plan.variant <= 0; });
    all.emplace_back(first, last);
    first = last;
  }
  return all;
}

void PassSession::run_pass() {
  for (const Variants variants : group_variants()) {
    if (!run_variants(variants)) return;
  }
}

// Returns whether the launch continues.
bool PassSession::run_variants(Variants variants) {
  for (const auto& table : variants) {
    if (table->begun && table->is_idle()) continue;
    if (must_end()) return false;
    if (!table->begun) {
      begin(*table);
    } else if (!table->open->resume()) {
      fail_points_without_memory(*table);
    }
  }
  const std::size_t points = variants.front()->points.size();
  for (std::size_t i = 0; i < points; ++i) {
    if (!find_width(variants, i)) return false;
    const int visit = pass_ - 1 + static_cast<int>(i);
    for (const int variant : variant_order(static_cast<int>(variants.size()), visit)) {
      PassTable& table = *variants[static_cast<std::size_t>(variant)];
      PassPoint& entry = table.points[i];
      if (table.failure || entry.done || entry.failure) continue;
      if (must_end(entry.cost)) return false;
      const double begun = elapsed();
      run_point(table, entry);
      entry.cost = elapsed() - begun;
    }
  }
  show_progress();
  return true;
}

void PassSession::begin(PassTable& table) {
  table.begun = true;
  table.failure = table.plan.failure;
  for (PassPoint& entry : table.points) entry.failure = entry.point->failure;
  if (!table.failure && !budget_spent_) open(table);
}

void PassSession::open(PassTable& table) {
  wait_for_turn(sample_seconds_);
  const ActivityScope opening(context_.host, table.plan.table);
  table.open = context_.resources.open(table.plan);
  table.failure = table.open->failure();
  if (!table.failure) table.failure = warm_up(context_, table.plan, *table.open);
  if (table.failure) return;
  for (PassPoint& entry : table.points) entry.failure = point_failure(context_, *table.open, *entry.point);
  const auto [rank_probing, first] = probing_.try_emplace(table.plan.table.grouping.groups);
  if (first) rank_probing->second = choose_probing(*table.open);
  table.probing = rank_probing->second;
}

void PassSession::fail_points_without_memory(PassTable& table) {
  for (PassPoint& entry : table.points) {
    if (!entry.failure) entry.failure = memory_exhausted(context_, *entry.point);
  }
}

// The first variant whose table can be measured decides the width of -arrival xN for all variants. Otherwise
// each variant would be measured under other conditions. Returns whether the launch continues.
bool PassSession::find_width(Variants variants, std::size_t point) {
  const ArrivalChoice choice = context_.options.arrival.value_or(ArrivalChoice{});
  const auto able = std::ranges::find_if(variants, [](const auto& table) { return !table->failure; });
  if (!choice.relative || able == variants.end()) return true;
  PassTable& first = **able;
  PassPoint& entry = first.points[point];
  if (entry.width) return true;
  if (!entry.failure) {
    if (must_end()) return false;
    try {
      PointRun run(context_, first.plan, *first.open, *entry.point,
                   {.sampling = nullptr,
                    .stopping = [] { return false; },
                    .synchronized = [this](bool unchanged) { note_synchronization(unchanged); }});
      entry.width = choice.width * run.even_median();
    } catch (const PointError& failed) {
      entry.failure = failed.failure;
    }
  }
  for (const auto& table : variants) {
    PassPoint& other = table->points[point];
    other.width = entry.width;
    if (!other.failure) other.failure = entry.failure;
  }
  return true;
}

// If a clock was set, the samples since the last synchronization are invalid.
void PassSession::note_synchronization(bool unchanged) {
  for (PassPoint* entry : since_synchronized_) {
    if (!unchanged && !entry->failure) entry->failure = clock_set(*entry->point);
  }
  since_synchronized_.clear();
}

void PassSession::run_point(PassTable& table, PassPoint& entry) {
  wait_for_turn(table.probing.sample_seconds);
  try {
    take_sample(table, entry);
  } catch (const PointError& failed) {
    entry.failure = failed.failure;  // its earlier samples do not make a row
  }
}

void PassSession::take_sample(PassTable& table, PassPoint& entry) {
  constexpr double ticks = 1000;  // clock ticks per sample: 0.1 % resolution
  const PassLimits limits{
      .seconds = table.probing.sample_seconds, .shortest = ticks * tick_, .seconds_each = entry.seconds_each};
  const bool first = entry.samples == 0;
  PointRun run(context_, table.plan, *table.open, *entry.point,
               {.sampling = context_.schedule.sampling(table.plan, *entry.point, limits),
                .stopping = [] { return false; },
                .completed = entry.completed,
                .check = first && context_.options.check,
                .drift = first,
                .oldest_clock = oldest_clock_in_passes,
                .synchronized = [this](bool unchanged) { note_synchronization(unchanged); },
                .width = entry.width,
                .exchanges = table.probing.exchanges});
  std::optional<Measurement> measurement = run.measure();
  if (!measurement) return;
  ++entry.samples;
  entry.completed += measurement->repetitions;
  if (table.plan.gated) {
    since_synchronized_.push_back(&entry);
    entry.valid += run.valid();
    entry.given_up = entry.completed >= repetitions_to_give_up && too_few_valid(entry.valid, entry.completed);
    entry.done |= entry.given_up;
  }
  entry.seconds_each = update_seconds_each(entry.seconds_each, run.seconds_each());
  progress_.ending().measuring_seconds += run.measured_seconds();
  progress_.ending().observing_seconds += run.observing_seconds();
  if (first) progress_.count_defects(*measurement);
  if (context_.world.rank() == 0) add_sample(table, entry, run, *measurement);
}

void PassSession::add_sample(PassTable& table, PassPoint& entry, PointRun& run, Measurement& measurement) {
  const double at = elapsed();
  PassSample sample{.pass = pass_, .at = at, .measurement = {}, .probes = run.probes()};
  sample.probes.resize(measurement.rows.size(), {std::nan(""), std::nan("")});
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    Row& row = measurement.rows[i];
    row.drop(PassCombination::dropped);
    if (entry.rows.size() <= i) entry.rows.emplace_back().first = row;
    entry.rows[i].samples.push_back({.at = at,
                                     .repetitions = measurement.repetitions,
                                     .figures = row,
                                     .slowest = row.slowest,
                                     .arrivals = row.arrivals,
                                     .probes = sample.probes[i]});
    if (row.evidence) entry.rows[i].evidence += *row.evidence;
  }
  sample.measurement = std::move(measurement);
  sample.measurement.first_row = entry.first_row;
  context_.reporter.sample(table.plan.table, sample);
  progress_.ending().passes = pass_;
  progress_.ending().seconds = at;
  if (entry.samples == 1) context_.host.progress(progress_.ending());
}

// The time in which other launches measure does not count toward the budget of this launch. Passing the turn
// takes about as long as a short sample, so a turn has several samples. Launches with the same selection
// compute the same number of samples, so they measure the same rows in each turn, unless slow exchanges make
// samples longer.
void PassSession::wait_for_turn(double seconds) {
  constexpr double turn_seconds = 20e-3;
  if (turn_left_ < seconds / 2) {
    turn_left_ = turn_seconds;
    const double asked = context_.host.now();
    context_.host.wait_for_row();
    waited_ += context_.host.now() - asked;
  }
  turn_left_ -= seconds;
}

// Each of the two probes of a sample takes at most `share` of its time, and needs enough exchanges for the
// clock's resolution. If exchanges are slow, samples get longer; if they are very slow, there are no probes.
Probing PassSession::choose_probing(OpenTable& open) const {
  constexpr int fewest = 5, usual = 50;
  constexpr double share = 0.015, ticks = 200;
  const Probing none{.exchanges = 0, .sample_seconds = sample_seconds_};
  double exchange_seconds = 0;
  for (const int trial : {fewest, usual}) {
    const double mine = open.probe(trial);
    exchange_seconds = context_.world.allreduce_max(std::isfinite(mine) ? mine : 0);
    if (exchange_seconds <= 0 || fewest * exchange_seconds / share > max_sample_seconds) return none;
  }
  const double wanted = std::max(share * sample_seconds_, ticks * tick_);
  const int exchanges = std::max(fewest, static_cast<int>(wanted / exchange_seconds));
  const double seconds = std::max(sample_seconds_, exchanges * exchange_seconds / share);
  if (seconds > max_sample_seconds) return {.exchanges = 0, .sample_seconds = max_sample_seconds};
  return {exchanges, seconds};
}

// The budget includes the judgment that follows the pass.
bool PassSession::must_end(double next) {
  const bool over_budget = context_.world.rank() == 0 && passes_.budget &&
                           elapsed() + std::max(next, sample_seconds_) + judging_ > *passes_.budget;
  if (!progress_.agree_to_stop(over_budget)) return false;
  budget_spent_ = !progress_.interrupted();
  return true;
}

bool PassSession::everything_is_measured() const {
  return std::ranges::all_of(tables_, [](const auto& table) { return table->is_idle(); });
}

// Judgments become rarer, because each further pass changes less.
bool PassSession::all_are_done() {
  if (!passes_.precision || pass_ < next_judgment_) return false;
  constexpr double growth = 1.2;
  next_judgment_ = std::max(pass_ + 1, static_cast<int>(growth * pass_));
  if (context_.world.rank() == 0) judge();
  std::vector<double> done;
  for (const auto& table : tables_) {
    for (const PassPoint& entry : table->points) done.push_back(entry.done ? 1 : 0);
  }
  context_.world.broadcast(done);
  std::size_t next = 0;
  for (const auto& table : tables_) {
    for (PassPoint& entry : table->points) entry.done = done[next++] > 0;
  }
  return everything_is_measured();
}

// If all points seem to be done, they are judged again with as many probes as the report uses. So no row
// misses the precision in a launch that ended because of it.
void PassSession::judge() {
  const double begun = context_.host.now();
  for (const std::size_t fitted : {fitted_for_judgment, fitted_for_report}) {
    assign_states(fitted);
    for (const auto& table : tables_) {
      for (PassPoint& entry : table->points) entry.done = is_done(*table, entry);
    }
    for (const Variants variants : group_variants()) finish_variants_together(variants);
    if (!everything_is_measured()) break;
  }
  judging_ = context_.host.now() - begun;
}

// Variants are compared with each other, so a point is measured under all variants until it is done under
// all.
void PassSession::finish_variants_together(Variants variants) {
  for (std::size_t i = 0; i < variants.front()->points.size(); ++i) {
    const bool all = std::ranges::all_of(variants, [i](const auto& table) {
      return table->failure || table->points[i].failure || table->points[i].done;
    });
    for (const auto& table : variants) table->points[i].done &= all;
  }
}

// A point is done when it is within the precision at two successive judgments, as one may be chance. It stops
// being done if the machine has shown a faster state since.
bool PassSession::is_done(const PassTable& table, PassPoint& entry) const {
  if (entry.failure || entry.rows.empty()) return false;
  if (entry.given_up) return true;
  const Measurement measurement = combine_passes(table, entry);
  const bool within = std::ranges::all_of(measurement.rows, [&](const Row& row) {
    return row.passes->reference && is_within(*row.passes, *passes_.precision);
  });
  return std::exchange(entry.was_within, within) && within;
}

// An interrupted launch has only a fraction of a second for its report, so it fits states to fewer probes.
void PassSession::report() {
  if (context_.world.rank() == 0)
    assign_states(progress_.interrupted() ? fitted_when_interrupted : fitted_for_report);
  for (const auto& table : tables_) report(*table);
}

void PassSession::report(PassTable& table) {
  if (!table.begun && budget_spent_) begin(table);
  if (!table.begun) return;
  const bool reports = context_.world.rank() == 0;
  if (table.failure) return progress_.report(table.plan.table, *table.failure);
  if (reports) context_.reporter.open_table(table.plan.table);
  for (PassPoint& entry : table.points) report(table, entry);
  if (reports) context_.reporter.close_table(table.plan.table);
}

void PassSession::report(const PassTable& table, PassPoint& entry) {
  if (!entry.failure && entry.samples == 0 && budget_spent_) {
    entry.failure = {.cause = Failure::Cause::over_budget,
                     .bytes = entry.point->bytes,
                     .detail = "the budget of the launch was spent before the first sample",
                     .limit = true};
  }
  if (entry.failure) return progress_.report(table.plan.table, *entry.failure);
  if (entry.samples > 0) progress_.report_summary(table.plan.table, summary(table, entry));
}

// Returns the row of a point over all passes; without rows on ranks other than 0.
Measurement PassSession::summary(const PassTable& table, const PassPoint& entry) const {
  if (context_.world.rank() != 0) return {.bytes = entry.point->bytes, .repetitions = 0, .rows = {}};
  Measurement measurement = combine_passes(table, entry);
  constexpr double usual = 0.05;
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    SampleStatistics& statistics = *measurement.rows[i].passes;
    if (is_within(statistics, passes_.precision.value_or(usual))) continue;
    if (!progress_.interrupted()) statistics.modes = modes_of(table.plan.table, entry.rows[i], statistics);
    if (!passes_.precision) continue;
    statistics.shortfall = progress_.interrupted() ? SampleStatistics::Shortfall::interrupted
                           : budget_spent_         ? SampleStatistics::Shortfall::budget
                                                   : SampleStatistics::Shortfall::passes;
  }
  return measurement;
}

void PassSession::assign_states(std::size_t fitted) {
  std::map<Ranks, std::vector<RowSeries*>> by_ranks;
  for (const auto& table : tables_) {
    for (PassPoint& entry : table->points) {
      for (RowSeries& series : entry.rows) by_ranks[ranks_of(*table, series)].push_back(&series);
    }
  }
  states_.clear();
  for (const auto& [ranks, rows] : by_ranks) states_[ranks] = openimb::assign_states(rows, fitted);
}

Measurement PassSession::combine_passes(const PassTable& table, const PassPoint& entry) const {
  Measurement measurement{.bytes = entry.point->bytes,
                          .repetitions = 0,
                          .rows = {},
                          .first_row = entry.first_row,
                          .fewer_in_flight = entry.point->fewer_in_flight()};
  for (const RowSeries& series : entry.rows) {
    Summary summary = summarize(table.plan.table, measurement.bytes, entry.point->in_flight, series,
                                states_.at(ranks_of(table, series)));
    measurement.repetitions = summary.repetitions;
    summary.row.arrivals.given_up = entry.given_up;
    measurement.rows.push_back(std::move(summary.row));
  }
  return measurement;
}

void PassSession::show_progress() {
  constexpr double every = 0.2;
  if (context_.world.rank() != 0 || elapsed() < shown_ + every) return;
  shown_ = elapsed();
  PassProgress progress;
  progress.pass = pass_;
  for (const auto& table : tables_) {
    progress.points += table->points.size();
    progress.done += static_cast<std::size_t>(
        std::ranges::count_if(table->points, [](const PassPoint& entry) { return entry.done; }));
  }
  if (passes_.budget) progress.seconds_left = std::max(0.0, *passes_.budget - elapsed());
  context_.host.pass_progress(progress);
}

}  // namespace

Ending run_in_passes(const SessionContext& context) { return PassSession(context).run(); }

}  // namespace openimb
