#include "session/session.h"

#include <optional>

#include "session/outcome.h"
#include "session/point_run.h"

namespace openimb {

namespace {

class Session {
 public:
  explicit Session(const SessionParts& parts) : parts_(parts), outcome_(parts) {}
  Ending run();

 private:
  void run_table(const TableKey& key);
  void run_points(const TablePlan& plan, OpenTable& open);
  void run_point(const TablePlan& plan, OpenTable& open, const Point& point);

  const SessionParts& parts_;
  Outcome outcome_;
};

Ending Session::run() {
  for (const TableKey& key : parts_.schedule.tables()) {
    if (outcome_.agree_to_stop()) break;
    run_table(key);
  }
  return outcome_.ending();
}

void Session::run_table(const TableKey& key) {
  const TablePlan plan = parts_.schedule.plan(key);
  if (plan.failure) return outcome_.report(plan.table, *plan.failure);
  parts_.host.wait_for_row();
  const ActivityScope table(parts_.host, plan.table);
  const std::unique_ptr<OpenTable> open = parts_.resources.open(plan);
  if (const auto failure = open->failure()) return outcome_.report(plan.table, *failure);
  if (const auto failure = warm_up(parts_, plan, *open)) return outcome_.report(plan.table, *failure);
  if (parts_.world.rank() == 0) parts_.reporter.open_table(plan.table);
  run_points(plan, *open);
  if (parts_.world.rank() == 0) parts_.reporter.close_table(plan.table);
}

void Session::run_points(const TablePlan& plan, OpenTable& open) {
  for (const Point& point : plan.points) {
    if (outcome_.agree_to_stop()) return;
    parts_.host.wait_for_row();
    run_point(plan, open, point);
  }
}

void Session::run_point(const TablePlan& plan, OpenTable& open, const Point& point) {
  if (const auto failure = point_failure(parts_, open, point)) return outcome_.report(plan.table, *failure);
  try {
    PointRun run(parts_, plan, open, point,
                 {.sampling = parts_.schedule.sampling(plan, point),
                  .stopping = [this] { return outcome_.agree_to_stop(); },
                  .check = parts_.options.check,
                  .drift = true});
    const std::optional<Measurement> measurement = run.measure();
    if (!measurement) return;
    outcome_.report(plan.table, *measurement);
    if (parts_.options.message_pause) parts_.host.pause(run.pause_seconds());
    if (parts_.options.pause_seconds > 0) parts_.host.pause(parts_.options.pause_seconds);
  } catch (const PointError& failed) {
    outcome_.report(plan.table, failed.failure);
  }
}

}  // namespace

Ending run_session(const SessionParts& parts) {
  if (parts.options.fabric) return run_sweeps(parts);
  return parts.options.passes ? run_in_passes(parts) : Session(parts).run();
}

}  // namespace openimb
