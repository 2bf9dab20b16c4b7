// A benchmark on one rank for one point, as the session sees it. It runs and checks repetitions, and reports
// errors. Idle ranks have a batch that does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace openimb {

/// How a batch is timed. With at_agreed_times each repetition begins at a time of the common clock.
enum class Timing { total, every_repetition, synchronized, at_agreed_times };

/// Readings of this rank's clock that at_agreed_times keeps per repetition: planned begin, begin, end.
inline constexpr int stamps_each = 3;
inline bool is_late(const double* stamps, double tolerance) { return stamps[1] - stamps[0] > tolerance; }

using Hints = std::vector<std::pair<std::string, std::string>>;

/// The computation in each repetition, between the start and the wait of the operation.
struct LoadUse {
  std::int64_t units = 0;
  int tests = 0;         ///< calls of MPI_Test during the computation
  double computing = 0;  ///< result: seconds, sum over all repetitions
};

/// Calls are collective over the group. No call throws on one rank alone: an error of one rank waits in
/// take_error(), on which all ranks agree later, or ends the job.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Called untimed before each timed run and each check. Replaces what these need unused, such as a file.
  virtual void prepare() {}
  /// Called untimed after all measured repetitions. Verifies their effect, such as the size of a file.
  virtual void conclude(std::int64_t /*repetitions*/) {}
  /// Runs `repetitions` and returns the seconds that they took. `repetition_seconds` receives one time, or
  /// stamps_each stamps, per repetition; empty with Timing::total.
  virtual double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) = 0;
  /// Like run(), with computation in each repetition. Returns 0 in benchmarks without overlap.
  virtual double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                               LoadUse& load) = 0;
  /// Runs repetitions untimed; fills the buffers before each one and compares them after it. Returns the
  /// number of wrong bytes. Restores the buffers.
  virtual std::int64_t check(std::int64_t repetitions) = 0;
  /// Returns the seconds of each thread of this rank in the last run; empty with one thread and in benchmarks
  /// without threads.
  virtual std::span<const double> thread_seconds() const { return {}; }
  /// Returns the part of thread_seconds() in which each thread waited for its turn; empty unless threads take
  /// turns.
  virtual std::span<const double> thread_waiting() const { return {}; }
  /// Whether this rank has a time to report.
  virtual bool takes_part() const = 0;
  /// Returns this rank's error since the last call, in one line, if it did not end the job; else empty.
  virtual std::string take_error() { return {}; }
  /// Returns the hints (MPI_Info) that MPI uses for the file.
  virtual Hints hints() const { return {}; }
};

/// The batch of a rank outside all groups.
class IdleBatch final : public Batch {
 public:
  double run(std::int64_t, Timing, std::span<double>) override { return 0; }
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t) override { return 0; }
  bool takes_part() const override { return false; }
};

}  // namespace openimb
