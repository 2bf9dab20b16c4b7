#include "session/session.h"

#include <algorithm>
#include <optional>

#include "session/point_run.h"

namespace openimb {

namespace {

class Session {
 public:
  explicit Session(const SessionParts& parts) : parts_(parts) {}
  Ending run();

 private:
  void run_table(const TableKey& key);
  void run_points(const TablePlan& plan, OpenTable& open);
  void run_point(const TablePlan& plan, OpenTable& open, const Point& point);
  std::optional<Failure> warm_up(const TablePlan& plan, OpenTable& open);
  void report(const Table& table, const Failure& failure);
  void report(const Table& table, const Measurement& measurement);
  bool stopping();

  const SessionParts& parts_;
  Ending ending_;
};

Ending Session::run() {
  for (const TableKey& key : parts_.schedule.tables()) {
    if (stopping()) break;
    run_table(key);
  }
  return ending_;
}

void Session::run_table(const TableKey& key) {
  const TablePlan plan = parts_.schedule.plan(key);
  if (plan.failure) return report(plan.table, *plan.failure);
  parts_.surroundings.take_turn(true);
  const std::unique_ptr<OpenTable> open = parts_.resources.open(plan);
  if (const auto failure = open->failure()) return report(plan.table, *failure);
  if (const auto failure = warm_up(plan, *open)) return report(plan.table, *failure);
  if (parts_.world.rank() == 0) parts_.reporter.open_table(plan.table);
  run_points(plan, *open);
  if (parts_.world.rank() == 0) parts_.reporter.close_table(plan.table);
}

void Session::run_points(const TablePlan& plan, OpenTable& open) {
  for (const Point& point : plan.points) {
    if (stopping()) return;
    parts_.surroundings.take_turn(true);
    run_point(plan, open, point);
  }
}

// Guide, "Warm-Up Phase": N_WARMUP repetitions with a short message, once per table. Why that failed, if it
// did: the table does not run then.
std::optional<Failure> Session::warm_up(const TablePlan& plan, OpenTable& open) {
  const bool any_point = std::ranges::any_of(
      plan.points, [&](const Point& point) { return !point.failure && open.has_memory_for(point); });
  if (!any_point || !plan.warm_up || !open.has_memory_for(*plan.warm_up)) return std::nullopt;
  const OpenTable::Opened opened = open.open(*plan.warm_up);
  if (opened.failure) {
    return Failure{.cause = Failure::Cause::unavailable,
                   .detail = opened.failure->detail + "; warm-up failed"};
  }
  opened.batch->run(parts_.options.settings.warm_up_repetitions, Timing::total, {});
  return std::nullopt;
}

void Session::run_point(const TablePlan& plan, OpenTable& open, const Point& point) {
  if (point.failure) return report(plan.table, *point.failure);
  if (!open.has_memory_for(point)) return report(plan.table, out_of_memory(point, false));
  try {
    PointRun run(parts_, plan, open, point, [this] { return stopping(); });
    const std::optional<Measurement> measurement = run.measure();
    if (!measurement) return;
    report(plan.table, *measurement);
    if (parts_.options.message_pause) parts_.surroundings.pause(run.pause_seconds());
  } catch (const PointFailed& failed) {
    report(plan.table, failed.failure);
  }
}

void Session::report(const Table& table, const Failure& failure) {
  ++ending_.failed;
  if (parts_.world.rank() != 0) return;
  parts_.reporter.failure(table, failure);
  parts_.surroundings.progress(ending_);
}

void Session::report(const Table& table, const Measurement& measurement) {
  ++ending_.measured;
  if (parts_.world.rank() != 0) return;
  for (const Row& row : measurement.rows) ending_.defects += row.defects.value_or(0);
  parts_.reporter.row(table, measurement);
  parts_.surroundings.progress(ending_);
}

bool Session::stopping() {
  if (ending_.state != Ending::State::complete) return true;
  if (!parts_.world.any(parts_.surroundings.stop_requested())) return false;
  ending_.state = Ending::State::interrupted;
  ending_.reason = parts_.surroundings.stop_reason();
  return true;
}

}  // namespace

Ending run_session(const SessionParts& parts) { return Session(parts).run(); }

}  // namespace openimb
