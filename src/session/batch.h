// A benchmark on one rank for one point, as the session sees it: it runs and checks repetitions, and reports
// errors. Idle ranks also have a batch, which does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace openimb {

/// How a batch is timed. at_agreed_times: each repetition begins at a time of the common clock.
enum class Timing { total, every_repetition, synchronized, at_agreed_times };

/// With at_agreed_times, what is kept of a repetition: when this rank was to begin, began and ended, by its
/// clock.
inline constexpr int stamps_each = 3;
inline bool is_late(const double* stamps, double tolerance) { return stamps[1] - stamps[0] > tolerance; }

using Hints = std::vector<std::pair<std::string, std::string>>;

/// The computation in each repetition between start and wait, and the time that it took.
struct LoadUse {
  std::int64_t units = 0;
  int tests = 0;         ///< calls of MPI_Test spread over it
  double computing = 0;  ///< out: seconds, all repetitions together
};

/// Calls are collective over the group. None throws on one rank alone: an error of one rank becomes a text,
/// on which all ranks agree later, or ends the job.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Untimed, before each timed run and each check: renews what they must find unused, such as a file.
  virtual void prepare() {}
  /// Untimed, after all measured repetitions: verifies their effect, such as the size of a file.
  virtual void conclude(std::int64_t /*repetitions*/) {}
  /// Seconds that `repetitions` took. `repetition_seconds`: room for each repetition's time, or its stamps,
  /// unless Timing::total.
  virtual double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) = 0;
  /// The same with computation in each repetition; 0 for benchmarks that do not overlap.
  virtual double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                               LoadUse& load) = 0;
  /// Untimed: arms the buffers before and compares them after each repetition; returns the bytes that were
  /// wrong. Afterwards the buffers are as before.
  virtual std::int64_t check(std::int64_t repetitions) = 0;
  /// Seconds that each thread of this rank took in the last run; empty with one thread, and for benchmarks
  /// without threads.
  virtual std::span<const double> thread_seconds() const { return {}; }
  /// The part of them that each thread waited for its turn; empty where threads take no turns.
  virtual std::span<const double> thread_waiting() const { return {}; }
  /// Whether this rank has a time to report.
  virtual bool takes_part() const = 0;
  /// One line: the error of this rank since the last call, if one did not end the job; else empty.
  virtual std::string take_error() { return {}; }
  /// The hints in force for the file.
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
