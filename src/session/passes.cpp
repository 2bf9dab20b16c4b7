// A launch in passes: the whole selection is walked again and again, one sample of each point a pass, each
// between two probes of the machine, until the figures are known well enough or the budget is spent. Tables
// stay open; their rows are reported at the end. docs/architecture.md has the reasons.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "result/passes.h"
#include "session/outcome.h"
#include "session/point_run.h"

namespace openimb {

namespace {

// Probes that the states of the machine are fitted to.
constexpr std::size_t fitted_on_the_way = 400, fitted_in_report = 1000, fitted_in_haste = 200;

/// A point over all passes. Rows are rank 0's; all else is equal on all ranks.
struct PassPoint {
  const Point* point = nullptr;
  int first_row = 0;
  std::int64_t gone = 0;  ///< repetitions measured
  double each = 0;        ///< seconds of one, the least of any pass
  double cost = 0;        ///< seconds of the last sample, with all that goes with it; of this rank
  int samples = 0;
  bool done = false;
  bool within = false;  ///< the precision, at the last judgment
  std::optional<Failure> failure;
  std::vector<RowSeries> rows;
};

struct PassTable {
  explicit PassTable(TablePlan plan_of_it) : plan(std::move(plan_of_it)) {}
  const TablePlan plan;
  bool begun = false;
  std::unique_ptr<OpenTable> open;
  std::optional<Failure> failure;
  std::vector<PassPoint> points;

  bool idle() const {
    return failure.has_value() ||
           std::ranges::all_of(points, [](const PassPoint& one) { return one.done || one.failure; });
  }
};

class PassSession {
 public:
  explicit PassSession(const SessionParts& parts)
      : parts_(parts), passes_(*parts.options.passes), outcome_(parts), start_(parts.surroundings.now()) {}
  Ending run();

 private:
  /// Rows that are measured on the same ranks: processes, groups, group.
  using Ranks = std::tuple<int, int, int>;
  static Ranks ranks_of(const PassTable& table, const RowSeries& series) {
    const Layout& layout = table.plan.table.layout;
    return {layout.processes, layout.group_count(), series.first.group};
  }

  void plan();
  void run_pass();
  void begin(PassTable& table);
  void open(PassTable& table);
  void lose(PassTable& table);
  void run_point(PassTable& table, PassPoint& one);
  void take_sample(PassTable& table, PassPoint& one);
  void keep(PassTable& table, PassPoint& one, PointRun& run, Measurement& measurement);
  void take_turn();
  void choose_exchanges(OpenTable& open);
  bool must_end(double next = 0);
  bool nothing_is_left() const;
  bool all_are_done();
  void judge();
  bool is_done(const PassTable& table, PassPoint& one) const;
  void report();
  void report(PassTable& table);
  void report(const PassTable& table, PassPoint& one);
  Measurement summary(const PassTable& table, const PassPoint& one) const;
  void assign_states(std::size_t fitted);
  Measurement figures_of(const PassTable& table, const PassPoint& one) const;
  void show_progress();
  double elapsed() const { return parts_.surroundings.now() - start_ - waited_; }

  const SessionParts& parts_;
  const Passes passes_;
  Outcome outcome_;
  const double start_;
  double waited_ = 0;   ///< for other launches
  int of_turn_ = 0;     ///< samples and tables begun in this turn
  double judging_ = 0;  ///< seconds that the last judgment took
  double shown_ = 0;    ///< when progress was shown last
  double sample_seconds_ = 0;
  double tick_ = 0;      ///< of the coarsest clock, in seconds
  bool probed_ = false;  ///< exchanges are chosen
  int exchanges_ = 0;    ///< of a probe; 0: none
  int pass_ = 0;
  int next_look_ = 0;
  bool spent_ = false;  ///< the budget
  std::vector<std::unique_ptr<PassTable>> tables_;
  std::map<Ranks, MachineStates> states_;
};

Ending PassSession::run() {
  plan();
  const int most = passes_.most.value_or(std::numeric_limits<int>::max());
  while (pass_ < most && !spent_ && !outcome_.interrupted()) {
    ++pass_;
    run_pass();
    if (parts_.world.rank() == 0) parts_.surroundings.progress(outcome_.ending());
    if (spent_ || outcome_.interrupted() || all_are_done() || nothing_is_left()) break;
  }
  Ending& ending = outcome_.ending();
  ending.passes = pass_;
  ending.seconds = elapsed();
  ending.probes = exchanges_ > 0;
  report();
  return ending;
}

void PassSession::plan() {
  std::size_t points = 0;
  int rows = 0;
  for (const TableKey& key : parts_.schedule.tables()) {
    PassTable& table = *tables_.emplace_back(std::make_unique<PassTable>(parts_.schedule.plan(key)));
    const bool each_group = table.plan.table.multi == Multi::each_group;
    for (const Point& point : table.plan.points) {
      table.points.push_back({.point = &point, .first_row = rows, .failure = {}, .rows = {}});
      rows += each_group ? table.plan.table.layout.group_count() : 1;
    }
    points += table.points.size();
  }
  sample_seconds_ = seconds_of_samples(passes_, points);
  tick_ = parts_.world.largest(parts_.surroundings.clock_resolution());
  constexpr int first_look = 20;
  next_look_ = first_look;
}

void PassSession::run_pass() {
  for (const auto& table : tables_) {
    if (table->begun && table->idle()) continue;
    if (must_end()) return;
    if (!table->begun) {
      begin(*table);
    } else if (!table->open->resume()) {
      lose(*table);
    }
    for (PassPoint& one : table->points) {
      if (table->failure) break;
      if (one.done || one.failure) continue;
      if (must_end(one.cost)) return;
      const double begun = elapsed();
      run_point(*table, one);
      one.cost = elapsed() - begun;
    }
    show_progress();
  }
}

void PassSession::begin(PassTable& table) {
  table.begun = true;
  table.failure = table.plan.failure;
  for (PassPoint& one : table.points) one.failure = one.point->failure;
  if (!table.failure && !spent_) open(table);
}

void PassSession::open(PassTable& table) {
  take_turn();
  const UnderWay opening(parts_.surroundings, table.plan.table);
  table.open = parts_.resources.open(table.plan);
  table.failure = table.open->failure();
  if (!table.failure) table.failure = warm_up(parts_, table.plan, *table.open);
  if (table.failure) return;
  for (PassPoint& one : table.points) one.failure = why_not(parts_, *table.open, *one.point);
  if (!probed_) choose_exchanges(*table.open);
  probed_ = true;
}

void PassSession::lose(PassTable& table) {
  for (PassPoint& one : table.points) {
    if (!one.failure) one.failure = no_memory_left(parts_, *one.point);
  }
}

void PassSession::run_point(PassTable& table, PassPoint& one) {
  take_turn();
  try {
    take_sample(table, one);
  } catch (const PointFailed& failed) {
    one.failure = failed.failure;  // what it had measured before does not make a row
  }
}

void PassSession::take_sample(PassTable& table, PassPoint& one) {
  constexpr double ticks = 1000;  // of the clock, in a sample: a permille
  const PassLimits limits{.seconds = sample_seconds_, .shortest = ticks * tick_, .each = one.each};
  const bool first = one.samples == 0;
  PointRun run(parts_, table.plan, *table.open, *one.point,
               {.sampling = parts_.schedule.sampling(table.plan, *one.point, limits),
                .stopping = [] { return false; },
                .gone = one.gone,
                .check = first && parts_.options.check,
                .drift = first,
                .exchanges = exchanges_});
  std::optional<Measurement> measurement = run.measure();
  if (!measurement) return;
  ++one.samples;
  one.gone += measurement->repetitions;
  const double each = run.seconds_each();
  one.each = seconds_each_after(one.each, each);
  outcome_.ending().measuring_seconds += run.measured_seconds();
  outcome_.ending().observing_seconds += run.observing_seconds();
  if (first) outcome_.count_defects(*measurement);
  if (parts_.world.rank() == 0) keep(table, one, run, *measurement);
}

void PassSession::keep(PassTable& table, PassPoint& one, PointRun& run, Measurement& measurement) {
  const double at = elapsed();
  PassSample sample{.pass = pass_, .at = at, .measurement = {}, .probes = run.probes()};
  sample.probes.resize(measurement.rows.size(), {std::nan(""), std::nan("")});
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    Row& row = measurement.rows[i];
    row.drop(OverPasses::dropped);
    if (one.rows.size() <= i) one.rows.emplace_back().first = row;
    one.rows[i].samples.push_back({.at = at,
                                   .repetitions = measurement.repetitions,
                                   .figures = row,
                                   .slowest = row.slowest,
                                   .probes = sample.probes[i]});
    if (row.evidence) one.rows[i].evidence += *row.evidence;
  }
  sample.measurement = std::move(measurement);
  sample.measurement.first_row = one.first_row;
  parts_.reporter.sample(table.plan.table, sample);
  outcome_.ending().passes = pass_;
  outcome_.ending().seconds = at;
  if (one.samples == 1) parts_.surroundings.progress(outcome_.ending());
}

// The time for which other launches measure is not of this launch's budget. Handing over takes about as long
// as a short sample, so a turn has several of those. Their number follows from values that launches of the
// same selection have in common, unless slow exchanges make samples longer: these measure the same rows in
// each turn.
void PassSession::take_turn() {
  constexpr double turn_seconds = 20e-3;
  const int samples = std::max(1, static_cast<int>(std::lround(turn_seconds / sample_seconds_)));
  if (of_turn_++ % samples != 0) return;
  const double asked = parts_.surroundings.now();
  parts_.surroundings.take_turn(true);
  waited_ += parts_.surroundings.now() - asked;
}

// The two probes of a sample take no more than a twentieth of its time, and need enough exchanges for the
// clock. Where exchanges are slow, samples get longer; where they are very slow, there are no probes.
void PassSession::choose_exchanges(OpenTable& open) {
  constexpr int fewest = 5, usual = 50;
  constexpr double share = 0.015, ticks = 200, longest_sample = 20e-3;
  double each = 0;
  for (const int trial : {fewest, usual}) {
    const double mine = open.probe(trial);
    each = parts_.world.largest(std::isfinite(mine) ? mine : 0);
    if (fewest * each / share > longest_sample) each = 0;
    if (each <= 0) return;
  }
  const double wanted = std::max(share * sample_seconds_, ticks * tick_);
  exchanges_ = std::max(fewest, static_cast<int>(wanted / each));
  sample_seconds_ = std::max(sample_seconds_, exchanges_ * each / share);
  if (sample_seconds_ <= longest_sample) return;
  sample_seconds_ = longest_sample;
  exchanges_ = 0;
}

// A judgment is still to come when the budget is spent.
bool PassSession::must_end(double next) {
  const bool late = parts_.world.rank() == 0 && passes_.budget &&
                    elapsed() + std::max(next, sample_seconds_) + judging_ > *passes_.budget;
  if (!outcome_.stopping(late)) return false;
  spent_ = !outcome_.interrupted();
  return true;
}

bool PassSession::nothing_is_left() const {
  return std::ranges::all_of(tables_, [](const auto& table) { return table->idle(); });
}

// Judged ever more rarely, as each pass adds ever less.
bool PassSession::all_are_done() {
  if (!passes_.precision || pass_ < next_look_) return false;
  constexpr double growth = 1.2;
  next_look_ = std::max(pass_ + 1, static_cast<int>(growth * pass_));
  if (parts_.world.rank() == 0) judge();
  std::vector<double> done;
  for (const auto& table : tables_) {
    for (const PassPoint& one : table->points) done.push_back(one.done ? 1 : 0);
  }
  parts_.world.broadcast(done);
  std::size_t next = 0;
  for (const auto& table : tables_) {
    for (PassPoint& one : table->points) one.done = done[next++] > 0;
  }
  return nothing_is_left();
}

// What seems to be the end is judged as the report is, of more probes, so that no row of a launch that ended
// for its precision misses it.
void PassSession::judge() {
  const double begun = parts_.surroundings.now();
  for (const std::size_t fitted : {fitted_on_the_way, fitted_in_report}) {
    assign_states(fitted);
    for (const auto& table : tables_) {
      for (PassPoint& one : table->points) one.done = is_done(*table, one);
    }
    if (!nothing_is_left()) break;
  }
  judging_ = parts_.surroundings.now() - begun;
}

// Twice in a row, as once may be luck. What was done may have to be taken up again: the machine may have
// shown a faster state since.
bool PassSession::is_done(const PassTable& table, PassPoint& one) const {
  if (one.failure || one.rows.empty()) return false;
  const Measurement measurement = figures_of(table, one);
  const bool within = std::ranges::all_of(measurement.rows, [&](const Row& row) {
    return row.passes->reference && is_within(*row.passes, *passes_.precision);
  });
  return std::exchange(one.within, within) && within;
}

// An interrupted launch has a fraction of a second left.
void PassSession::report() {
  if (parts_.world.rank() == 0) assign_states(outcome_.interrupted() ? fitted_in_haste : fitted_in_report);
  for (const auto& table : tables_) report(*table);
}

void PassSession::report(PassTable& table) {
  if (!table.begun && spent_) begin(table);
  if (!table.begun) return;
  const bool reports = parts_.world.rank() == 0;
  if (table.failure) return outcome_.report(table.plan.table, *table.failure);
  if (reports) parts_.reporter.open_table(table.plan.table);
  for (PassPoint& one : table.points) report(table, one);
  if (reports) parts_.reporter.close_table(table.plan.table);
}

void PassSession::report(const PassTable& table, PassPoint& one) {
  if (!one.failure && one.samples == 0 && spent_) {
    one.failure = {.cause = Failure::Cause::over_budget,
                   .bytes = one.point->bytes,
                   .detail = "the budget of the launch was spent before the first sample",
                   .limit = true};
  }
  if (one.failure) return outcome_.report(table.plan.table, *one.failure);
  if (one.samples > 0) outcome_.report_summary(table.plan.table, summary(table, one));
}

// Rank 0's; on other ranks nothing is known.
Measurement PassSession::summary(const PassTable& table, const PassPoint& one) const {
  if (parts_.world.rank() != 0) return {.bytes = one.point->bytes, .repetitions = 0, .rows = {}};
  Measurement measurement = figures_of(table, one);
  constexpr double usual = 0.05;
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    SampleStatistics& statistics = *measurement.rows[i].passes;
    if (is_within(statistics, passes_.precision.value_or(usual))) continue;
    if (!outcome_.interrupted()) statistics.modes = modes_of(table.plan.table, one.rows[i], statistics);
    if (!passes_.precision) continue;
    statistics.shortfall = outcome_.interrupted() ? SampleStatistics::Shortfall::interrupted
                           : spent_               ? SampleStatistics::Shortfall::budget
                                                  : SampleStatistics::Shortfall::passes;
  }
  return measurement;
}

void PassSession::assign_states(std::size_t fitted) {
  std::map<Ranks, std::vector<RowSeries*>> together;
  for (const auto& table : tables_) {
    for (PassPoint& one : table->points) {
      for (RowSeries& series : one.rows) together[ranks_of(*table, series)].push_back(&series);
    }
  }
  states_.clear();
  for (const auto& [ranks, rows] : together) states_[ranks] = openimb::assign_states(rows, fitted);
}

Measurement PassSession::figures_of(const PassTable& table, const PassPoint& one) const {
  Measurement found{.bytes = one.point->bytes,
                    .repetitions = 0,
                    .rows = {},
                    .first_row = one.first_row,
                    .fewer_in_flight = one.point->fewer_in_flight()};
  for (const RowSeries& series : one.rows) {
    Summary summary = summarize(table.plan.table, found.bytes, one.point->in_flight, series,
                                states_.at(ranks_of(table, series)));
    found.repetitions = summary.repetitions;
    found.rows.push_back(std::move(summary.row));
  }
  return found;
}

void PassSession::show_progress() {
  constexpr double every = 0.2;
  if (parts_.world.rank() != 0 || elapsed() < shown_ + every) return;
  shown_ = elapsed();
  PassProgress progress;
  progress.pass = pass_;
  for (const auto& table : tables_) {
    progress.points += table->points.size();
    progress.done += static_cast<std::size_t>(
        std::ranges::count_if(table->points, [](const PassPoint& one) { return one.done; }));
  }
  if (passes_.budget) progress.seconds_left = std::max(0.0, *passes_.budget - elapsed());
  parts_.surroundings.pass_progress(progress);
}

}  // namespace

Ending run_in_passes(const SessionParts& parts) { return PassSession(parts).run(); }

}  // namespace openimb
