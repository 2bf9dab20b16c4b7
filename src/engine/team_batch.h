// A batch of several threads. Each thread has its own batch, buffers and communicator, and runs the ordinary
// loop of the benchmark.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/thread_team.h"
#include "session/batch.h"

namespace openimb {

class TeamBatch final : public Batch {
 public:
  /// `batches`: one batch for each thread of the team. `turn`: null unless threads take turns. The main
  /// thread calls `rank_barrier` before each run, to synchronize the ranks of the group.
  TeamBatch(ThreadTeam& team, std::vector<std::unique_ptr<Batch>> batches, std::unique_ptr<Turn> turn,
            std::function<void()> rank_barrier);

  /// Returns the seconds of the slowest thread. Each entry of `repetition_seconds` is the time of the slowest
  /// thread in that repetition.
  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) override;
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t repetitions) override;
  bool takes_part() const override { return batches_.front()->takes_part(); }
  std::span<const double> thread_seconds() const override { return seconds_; }
  std::span<const double> thread_waiting() const override { return waiting_; }

 private:
  ThreadTeam& team_;
  const std::unique_ptr<Turn> turn_;
  const std::vector<std::unique_ptr<Batch>> batches_;
  const std::function<void()> rank_barrier_;
  std::vector<double> seconds_;  ///< seconds of the last run, by thread
  std::vector<double> waiting_;  ///< seconds of the last run spent waiting for turns; empty without turns
  std::vector<std::vector<double>> seconds_of_repetitions_;  ///< seconds of each repetition, by thread
};

}  // namespace openimb
