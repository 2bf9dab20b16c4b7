// One launch: walks the schedule, keeps all ranks in step, and hands every point to a reporter. Knows neither
// MPI nor the operating system: ranks, resources and surroundings are interfaces. Source: guide, "Control
// Flow", "Synchronization", "Communicators, Active Processes".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "plan/options.h"
#include "plan/schedule.h"
#include "report/reporter.h"
#include "result/evidence.h"
#include "result/measurement.h"
#include "session/agreement.h"
#include "session/load.h"
#include "session/resources.h"

namespace openimb {

/// How far a launch in passes is.
struct PassProgress {
  int pass = 0;
  std::size_t points = 0;
  std::size_t done = 0;                ///< points whose rows are all known as well as asked for
  std::optional<double> seconds_left;  ///< of the budget
};

/// What a rank is at.
struct Activity {
  std::string_view benchmark = {};         ///< of the catalog; empty: between two tables
  int processes = 0;                       ///< of one group
  std::optional<std::int64_t> bytes = {};  ///< empty: at no length
  std::optional<int> partner = {};         ///< endpoint with which this rank alone exchanges messages
};

/// What the session asks of its surroundings. All are called on every rank, but progress.
struct Surroundings {
  std::function<bool()> stop_requested;      ///< on this rank; acted on by all, between two points
  std::function<std::string()> stop_reason;  ///< "SIGTERM"
  std::function<void(double seconds)> pause;
  std::function<void(const Ending& so_far)> progress;  ///< rank 0, after each row
  /// Waits until this launch may measure, where launches alternate: before a row, or before a further
  /// segment.
  std::function<void(bool row)> take_turn;
  std::function<std::int64_t()> free_bytes;                ///< of storage, where this rank's files lie
  std::function<Reading()> evidence;                       ///< this rank's counters; empty: there are none
  std::function<double()> now;                             ///< seconds since some start
  double clock_resolution = 0;                             ///< seconds
  std::function<void(const PassProgress&)> pass_progress;  ///< rank 0, now and then in passes
  /// When a table or a point begins and when it ends: for the message when this rank cannot go on.
  std::function<void(const Activity&)> activity = {};
  /// What is to be reported, by another thread, before the job ends because a call of rank 0 does not return.
  std::function<void(std::function<void()>)> before_giving_up = {};
};

/// All that a session works with; each outlives it.
struct SessionParts {
  const Options& options;
  const Schedule& schedule;
  Agreement& world;
  Resources& resources;
  Load& load;  ///< calibrated, or on first use
  Reporter& reporter;
  const Surroundings& surroundings;
};

/// Collective over the world. Returns how it ended; the reporter (rank 0's; others are never called) has had
/// everything but begin() and end().
Ending run_session(const SessionParts& parts);

}  // namespace openimb
