// What has come of a launch so far, in step on all ranks; and what launches of both kinds begin a table with.
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
  /// Counts and reports the samples of a point together, whose defects were counted when they were found.
  void report_summary(const Table& table, const Measurement& measurement);
  void count_defects(const Measurement& measurement);
  /// Whether the launch is to end; collective. `mine`: or, by another reason, which ends no session in
  /// disorder.
  bool stopping(bool mine = false);
  /// It was asked to end before all was measured.
  bool interrupted() const { return ending_.state != Ending::State::complete; }
  Ending& ending() { return ending_; }

 private:
  const SessionParts& parts_;
  Ending ending_;
};

/// Why a point of an open table has no row; nothing where it can be measured. Equal on all ranks.
std::optional<Failure> why_not(const SessionParts& parts, const OpenTable& table, const Point& point);
/// There was memory, and then there was none.
Failure no_memory_left(const SessionParts& parts, const Point& point);

/// Guide, "Warm-Up Phase": N_WARMUP repetitions with a short message, once per table. Why that failed, if it
/// did: the table does not run then. Collective.
std::optional<Failure> warm_up(const SessionParts& parts, const TablePlan& plan, OpenTable& open);

}  // namespace openimb
