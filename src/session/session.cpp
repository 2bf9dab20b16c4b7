#include "session/session.h"

#include <optional>

#include "session/launch_progress.h"
#include "session/point_run.h"

namespace openimb {

namespace {

class Session {
 public:
  explicit Session(const SessionContext& context) : context_(context), progress_(context) {}
  Ending run();

 private:
  void run_table(const TableKey& key);
  void run_points(const TablePlan& plan, OpenTable& open);
  void run_point(const TablePlan& plan, OpenTable& open, const Point& point);

  const SessionContext& context_;
  LaunchProgress progress_;
};

Ending Session::run() {
  for (const TableKey& key : context_.schedule.tables()) {
    if (progress_.agree_to_stop()) break;
    run_table(key);
  }
  return progress_.ending();
}

void Session::run_table(const TableKey& key) {
  const TablePlan plan = context_.schedule.plan(key);
  if (plan.failure) return progress_.report(plan.table, *plan.failure);
  context_.host.wait_for_row();
  const ActivityScope table(context_.host, plan.table);
  const std::unique_ptr<OpenTable> open = context_.resources.open(plan);
  if (const auto failure = open->failure()) return progress_.report(plan.table, *failure);
  if (const auto failure = warm_up(context_, plan, *open)) return progress_.report(plan.table, *failure);
  if (context_.world.rank() == 0) context_.reporter.open_table(plan.table);
  run_points(plan, *open);
  if (context_.world.rank() == 0) context_.reporter.close_table(plan.table);
}

void Session::run_points(const TablePlan& plan, OpenTable& open) {
  for (const Point& point : plan.points) {
    if (progress_.agree_to_stop()) return;
    context_.host.wait_for_row();
    run_point(plan, open, point);
  }
}

void Session::run_point(const TablePlan& plan, OpenTable& open, const Point& point) {
  if (const auto failure = point_failure(context_, open, point))
    return progress_.report(plan.table, *failure);
  try {
    PointRun run(context_, plan, open, point,
                 {.sampling = context_.schedule.sampling(plan, point),
                  .stopping = [this] { return progress_.agree_to_stop(); },
                  .check = context_.options.check,
                  .drift = true});
    const std::optional<Measurement> measurement = run.measure();
    if (!measurement) return;
    progress_.report(plan.table, *measurement);
    if (context_.options.message_pause) context_.host.pause(run.pause_seconds());
    if (context_.options.pause_seconds > 0) context_.host.pause(context_.options.pause_seconds);
  } catch (const PointError& failed) {
    progress_.report(plan.table, failed.failure);
  }
}

}  // namespace

Ending run_session(const SessionContext& context) {
  if (context.options.fabric) return run_sweeps(context);
  return context.options.passes ? run_in_passes(context) : Session(context).run();
}

}  // namespace openimb
