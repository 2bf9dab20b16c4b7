// A launch without MPI: ranks are threads, and batches take the times that a test gives them. Each test sets
// some members of a Model, launches, and looks at what rank 0 reported.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/schedule.h"
#include "session/session.h"

namespace openimb::fake {

/// One repetition of a batch on one rank.
struct At {
  const Table& table;
  std::int64_t bytes = 0;
  int rank = 0;                 ///< in the world
  std::int64_t repetition = 0;  ///< of this run
  int run = 0;                  ///< of this batch: warm-up, trials and measurements are runs
};

/// What has happened on one rank so far.
struct Rank {
  int rank = 0;
  int batches = 0;                 ///< batches opened, with the warm-ups of tables
  int drifts = 0;                  ///< how often the drift of the load was measured
  int agreements = 0;              ///< calls of largest() over the world
  double clock = 0;                ///< seconds of model time
  std::vector<double> clock_ages;  ///< at each synchronization of clocks: seconds since the one before
  std::string variant;             ///< the variant whose variables are set; empty: none
  std::vector<std::string> log;    ///< what was called, in order
};

/// How the launch behaves. An empty function means that nothing special happens.
struct Model {
  std::function<double(const At&)> seconds = [](const At&) { return 0x1p-10; };
  std::function<double(const At&, const LoadUse&)> with_load = {};  ///< seconds of a repetition with its load
  std::function<double(const At&, const LoadUse&)> computing = {};  ///< seconds of the load in a repetition
  std::function<bool(const Table&, int rank)> takes_part = {};
  std::function<std::int64_t(const At&)> wrong_bytes = {};
  /// `where`: prepare, run, check, conclude, fill
  std::function<std::string(const At&, const std::string& where)> error = {};
  std::function<std::optional<Failure>(const Table&)> table_failure = {};
  std::function<bool(const Table&, const Point&, int rank)> has_memory = {};
  std::function<bool(const Table&, const Point&, int rank)> opens = {};
  std::function<bool(const Rank&)> stop = {};
  std::function<double(int rank, int nth)> drift = {};
  std::function<bool(const Table&)> loses_memory = {};  ///< before a further pass
  std::function<double(const Rank&)> probe = {};        ///< seconds of one exchange
  std::function<std::int64_t(const Rank&)> free_bytes = {};
  std::function<Reading(const Rank&)> reading = {};  ///< counters
  /// Returns the ranks that are lost after the nth agreement, the same on all ranks. They continue, so that
  /// no rank waits for them.
  std::function<std::vector<int>(int agreements)> lost = {};
  std::int64_t max_gathered_bytes = 1 << 30;
  Hints hints = {};
  bool calibrated = true;
};

/// One call of the reporter.
struct ReporterCall {
  enum class What { open_table, close_table, row, failure, sample, pairs };
  What what;
  Table table;
  Measurement measurement = {};
  Failure failure = {};
  PassSample sample = {};
  std::vector<PairSample> pairs = {};
};

/// The result of a launch.
struct LaunchResult {
  std::string disagreement;  ///< empty: all ranks made the same calls
  std::vector<Ending> endings;
  std::vector<Rank> ranks;
  std::vector<std::vector<std::string>> calls;  ///< over the world, by rank
  std::vector<ReporterCall> reported;
  std::vector<Ending> progress;

  const Ending& ending() const { return endings.front(); }
  std::vector<Measurement> rows(std::string_view benchmark, int processes = 0) const;
  std::vector<Failure> failures() const;
  /// One line per call of the reporter: "row Bcast 4 8": benchmark, processes, bytes.
  std::vector<std::string> reported_lines() const;
  /// Returns the lines of a rank's log that begin with one of these words.
  std::vector<std::string> log(int rank, std::initializer_list<std::string_view> words) const;
};

/// Fails the running test if ranks disagreed. `launch_that_may_disagree` does not.
LaunchResult launch(std::span<const Spec> catalog, const Options& options, int ranks, const Model& model);
LaunchResult launch_that_may_disagree(std::span<const Spec> catalog, const Options& options, int ranks,
                                      const Model& model);

/// Returns options for a short launch: lengths 0, 8 and 64, eight repetitions, no warm-up.
Options small_options(std::size_t benchmarks);

}  // namespace openimb::fake
