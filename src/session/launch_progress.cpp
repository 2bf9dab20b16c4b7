#include "session/launch_progress.h"

#include <algorithm>

namespace openimb {

void LaunchProgress::report(const Table& table, const Failure& failure) {
  if (failure.counts) {
    ++ending_.failed;
    if (failure.limit) ++ending_.limited;
  }
  if (context_.world.rank() != 0) return;
  context_.reporter.failure(table, failure);
  context_.host.progress(ending_);
}

void LaunchProgress::report(const Table& table, const Measurement& measurement) {
  count_defects(measurement);
  report_summary(table, measurement);
}

void LaunchProgress::report_summary(const Table& table, const Measurement& measurement) {
  ++ending_.measured;
  if (context_.world.rank() != 0) return;
  context_.reporter.row(table, measurement);
  context_.host.progress(ending_);
}

void LaunchProgress::count_defects(const Measurement& measurement) {
  for (const Row& row : measurement.rows) ending_.defects += row.defects.value_or(0);
}

bool LaunchProgress::agree_to_stop(bool over_budget) {
  if (interrupted()) return true;
  const double request = context_.host.stop_requested() ? 2 : over_budget ? 1 : 0;
  const double strongest = context_.world.allreduce_max(request);
  if (strongest > 1) {
    ending_.state = Ending::State::interrupted;
    ending_.reason = context_.host.stop_reason();
  }
  return strongest > 0;
}

std::optional<Failure> point_failure(const SessionContext& context, const OpenTable& table,
                                     const Point& point) {
  if (point.failure) return point.failure;
  return table.has_memory_for(point) ? std::nullopt : std::optional(memory_exhausted(context, point));
}

Failure clock_set(const Point& point) {
  return {.cause = Failure::Cause::clock_set,
          .bytes = point.bytes,
          .detail = "the clock of a rank was set while the row was measured"};
}

Failure memory_exhausted(const SessionContext& context, const Point& point) {
  return out_of_memory(point, false, !context.options.memory.is_host());
}

std::optional<Failure> warm_up(const SessionContext& context, const TablePlan& plan, OpenTable& open) {
  const auto has_row = [&](const Point& point) { return !point_failure(context, open, point); };
  if (!plan.warm_up || !has_row(*plan.warm_up) || std::ranges::none_of(plan.points, has_row)) return {};
  const OpenTable::OpenResult opened = open.open(*plan.warm_up);
  if (opened.failure) {
    return Failure{.cause = Failure::Cause::unavailable,
                   .detail = opened.failure->detail + "; warm-up failed"};
  }
  const VariantScope variant(open);
  opened.batch->run(context.options.settings.warm_up_repetitions, Timing::total, {});
  return std::nullopt;
}

}  // namespace openimb
