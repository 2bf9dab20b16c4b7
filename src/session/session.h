// One launch: iterates over the schedule, keeps all ranks in step, and passes every point to a reporter. It
// depends neither on MPI nor on the operating system: ranks, resources and host services are interfaces.
// Source: guide, "Control Flow", "Synchronization", "Communicators, Active Processes".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/options.h"
#include "plan/schedule.h"
#include "report/reporter.h"
#include "result/evidence.h"
#include "result/measurement.h"
#include "session/common_clock.h"
#include "session/load.h"
#include "session/process_group.h"
#include "session/resources.h"

namespace openimb {

/// The progress of a launch in passes.
struct PassProgress {
  int pass = 0;
  std::size_t points = 0;
  std::size_t done = 0;                ///< points whose rows all have the requested precision
  std::optional<double> seconds_left;  ///< left of the budget
};

/// What a rank is doing, for messages.
struct Activity {
  std::string_view benchmark = {};         ///< a name in the catalog; empty between two tables
  int processes = 0;                       ///< of one group
  std::string_view variant = {};           ///< a name in the options; empty without variants
  std::optional<std::int64_t> bytes = {};  ///< empty without a length
  std::optional<int> partner = {};         ///< the only endpoint with which this rank exchanges messages
};

/// What the session needs from the process and its host. Called on every rank unless noted otherwise.
class HostServices {
 public:
  virtual ~HostServices() = default;
  /// Whether this rank was asked to stop. All ranks then stop together, between two points.
  virtual bool stop_requested() = 0;
  virtual std::string stop_reason() = 0;  ///< "SIGTERM"
  virtual void pause(double seconds) = 0;
  virtual void progress(const Ending& so_far) = 0;  ///< rank 0, after each row
  /// Waits until this launch may measure, if launches are interleaved: before a row, and before a further
  /// segment of it.
  virtual void wait_for_row() = 0;
  virtual void wait_for_segment() = 0;
  virtual std::int64_t free_bytes() = 0;              ///< of the file system of this rank's files
  virtual std::optional<Reading> evidence() = 0;      ///< this rank's counters, if there are any
  virtual double now() = 0;                           ///< seconds since an arbitrary start
  virtual double clock_resolution() = 0;              ///< seconds
  virtual void pass_progress(const PassProgress&) {}  ///< rank 0, repeatedly in passes
  /// Called when a table or a point begins and ends, so that the message of an abort can name it.
  virtual void activity(const Activity&) {}
  /// Sets what another thread reports before it ends the job because a call of rank 0 does not return.
  virtual void set_abort_report(std::function<void()> /*report*/) {}
};

/// The objects that a session uses; all outlive it.
struct SessionContext {
  const Options& options;
  const Schedule& schedule;
  ProcessGroup& world;
  Resources& resources;
  Load& load;  ///< calibrated before the session or on first use
  Reporter& reporter;
  HostServices& host;
  CommonClock* clock = nullptr;  ///< with -sync_start clock
};

/// Run launches in passes, and launches of IMB-FABRIC. Collective over the world.
Ending run_in_passes(const SessionContext& context);
Ending run_sweeps(const SessionContext& context);

/// Runs the launch and returns how it ended. Collective over the world. Calls only rank 0's reporter; the
/// caller calls its begin() and end().
Ending run_session(const SessionContext& context);

}  // namespace openimb
