#include "session/outcome.h"

#include <algorithm>

namespace openimb {

void Outcome::report(const Table& table, const Failure& failure) {
  if (failure.counts) ++ending_.failed;
  if (parts_.world.rank() != 0) return;
  parts_.reporter.failure(table, failure);
  parts_.surroundings.progress(ending_);
}

void Outcome::report(const Table& table, const Measurement& measurement) {
  count_defects(measurement);
  report_summary(table, measurement);
}

void Outcome::report_summary(const Table& table, const Measurement& measurement) {
  ++ending_.measured;
  if (parts_.world.rank() != 0) return;
  parts_.reporter.row(table, measurement);
  parts_.surroundings.progress(ending_);
}

void Outcome::count_defects(const Measurement& measurement) {
  for (const Row& row : measurement.rows) ending_.defects += row.defects.value_or(0);
}

bool Outcome::stopping(bool mine) {
  if (interrupted()) return true;
  const double wish = parts_.surroundings.stop_requested() ? 2 : mine ? 1 : 0;
  const double strongest = parts_.world.largest(wish);
  if (strongest > 1) {
    ending_.state = Ending::State::interrupted;
    ending_.reason = parts_.surroundings.stop_reason();
  }
  return strongest > 0;
}

std::optional<Failure> warm_up(const SessionParts& parts, const TablePlan& plan, OpenTable& open) {
  const bool any_point = std::ranges::any_of(
      plan.points, [&](const Point& point) { return !point.failure && open.has_memory_for(point); });
  if (!any_point || !plan.warm_up || !open.has_memory_for(*plan.warm_up)) return std::nullopt;
  const OpenTable::Opened opened = open.open(*plan.warm_up);
  if (opened.failure) {
    return Failure{.cause = Failure::Cause::unavailable,
                   .detail = opened.failure->detail + "; warm-up failed"};
  }
  opened.batch->run(parts.options.settings.warm_up_repetitions, Timing::total, {});
  return std::nullopt;
}

}  // namespace openimb
