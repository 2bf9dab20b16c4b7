// A benchmark on one rank for one point, as the session sees it: something that repeats, checks, and reports
// what went wrong. Idle ranks have a batch, too, which does nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace openimb {

/// How a batch is timed.
enum class Timing { total, every_repetition, synchronized };

using Hints = std::vector<std::pair<std::string, std::string>>;

/// What is computed in each repetition between start and wait, and where the time that it took goes.
struct LoadUse {
  std::int64_t units = 0;
  int tests = 0;         ///< calls of MPI_Test spread over it
  double computing = 0;  ///< out: seconds, all repetitions together
};

/// Calls are collective over the group. None throws on one rank alone: what a rank alone runs into is an
/// error text, on which all ranks agree later, or ends the job.
class Batch {
 public:
  virtual ~Batch() = default;
  /// Untimed, before each run that is timed or checked: what it must find anew.
  virtual void prepare() {}
  /// Untimed, after a run that counts: whether it did what it should.
  virtual void conclude(std::int64_t /*repetitions*/) {}
  /// Seconds that `repetitions` took. `samples`: room for each repetition's time unless Timing::total.
  virtual double run(std::int64_t repetitions, Timing timing, std::span<double> samples) = 0;
  /// The same with computation in each repetition; 0 for benchmarks that do not overlap.
  virtual double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                               LoadUse& load) = 0;
  /// Untimed: arms the buffers before and compares them after each repetition; returns the bytes that were
  /// wrong. Afterwards the buffers are as before.
  virtual std::int64_t check(std::int64_t repetitions) = 0;
  /// Seconds that each thread of this rank took in the last run; empty where there is one, and for benchmarks
  /// without threads.
  virtual std::span<const double> of_threads() const { return {}; }
  /// Seconds of them that each thread waited for its turn; empty where threads take none.
  virtual std::span<const double> waiting_of_threads() const { return {}; }
  /// Whether this rank has a time to report.
  virtual bool takes_part() const = 0;
  /// One line: what went wrong on this rank since it was asked last, where that does not end the job; else
  /// empty.
  virtual std::string take_error() { return {}; }
  /// In force for the file.
  virtual Hints hints() const { return {}; }
};

/// Of a rank outside all groups.
class IdleBatch final : public Batch {
 public:
  double run(std::int64_t, Timing, std::span<double>) override { return 0; }
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t) override { return 0; }
  bool takes_part() const override { return false; }
};

}  // namespace openimb
