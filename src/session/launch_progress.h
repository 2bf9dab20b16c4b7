// Counts the results of a launch, equally on all ranks, and reports them. Every session also uses the
// functions below, which warm up a table and find out which points cannot be measured.
#pragma once

#include <optional>

#include "session/session.h"

namespace openimb {

class LaunchProgress {
 public:
  explicit LaunchProgress(const SessionContext& context) : context_(context) {}
  /// Count the result and report it.
  void report(const Table& table, const Failure& failure);
  void report(const Table& table, const Measurement& measurement);
  /// Counts and reports a row over all passes. Its defects were counted with its samples, by count_defects().
  void report_summary(const Table& table, const Measurement& measurement);
  void count_defects(const Measurement& measurement);
  /// Returns whether the launch must end. Collective. `over_budget`: this rank wants it to end, without an
  /// interruption.
  bool agree_to_stop(bool over_budget = false);
  /// Whether a request to stop ended the launch before everything was measured.
  bool interrupted() const { return ending_.state != Ending::State::complete; }
  Ending& ending() { return ending_; }

 private:
  const SessionContext& context_;
  Ending ending_;
};

/// Returns why a point of an open table has no row, or nothing if it can be measured. Equal on all ranks.
std::optional<Failure> point_failure(const SessionContext& context, const OpenTable& table,
                                     const Point& point);
/// Returns the failure of a point during which a clock was set.
Failure clock_set(const Point& point);
/// Returns the failure of a point for which a rank found no memory although -mem allows it.
Failure memory_exhausted(const SessionContext& context, const Point& point);

/// Runs N_WARMUP repetitions with a short message, once per table (guide, "Warm-Up Phase"). Returns the
/// failure if they cannot run: the table is then skipped. Collective.
std::optional<Failure> warm_up(const SessionContext& context, const TablePlan& plan, OpenTable& open);

}  // namespace openimb
