// The results of a launch so far, counted equally on all ranks; and what all sessions do at the start of a
// table.
#pragma once

#include <optional>

#include "session/session.h"

namespace openimb {

class Outcome {
 public:
  explicit Outcome(const SessionParts& parts) : parts_(parts) {}
  /// Counts and reports.
  void report(const Table& table, const Failure& failure);
  void report(const Table& table, const Measurement& measurement);
  /// Counts and reports the row of a point in passes, whose defects were counted with its samples.
  void report_summary(const Table& table, const Measurement& measurement);
  void count_defects(const Measurement& measurement);
  /// Whether the launch must end; collective. `over_budget`: this rank has a reason that is not an
  /// interruption.
  bool agree_to_stop(bool over_budget = false);
  /// Whether a request to stop ended it before all was measured.
  bool interrupted() const { return ending_.state != Ending::State::complete; }
  Ending& ending() { return ending_; }

 private:
  const SessionParts& parts_;
  Ending ending_;
};

/// Why a point of an open table has no row; nothing where it can be measured. Equal on all ranks.
std::optional<Failure> point_failure(const SessionParts& parts, const OpenTable& table, const Point& point);
/// The failure of a point during which a clock was set.
Failure clock_set(const Point& point);
/// The failure of a point for which a rank found no memory although -mem allows it.
Failure memory_exhausted(const SessionParts& parts, const Point& point);

/// Guide, "Warm-Up Phase": N_WARMUP repetitions with a short message, once per table. Returns why that
/// failed, if it did: then the table does not run. Collective.
std::optional<Failure> warm_up(const SessionParts& parts, const TablePlan& plan, OpenTable& open);

}  // namespace openimb
