// A batch of several threads: each has a batch of its own, with its buffers and its communicator, and runs
// the ordinary loop of the benchmark.
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
  /// `members`: one for each thread of the team; `turn`: theirs, if they take turns; `meet_ranks`: the main
  /// thread meets the other ranks of the group, before each run.
  TeamBatch(ThreadTeam& team, std::vector<std::unique_ptr<Batch>> members, std::unique_ptr<Turn> turn,
            std::function<void()> meet_ranks);

  /// Of the slowest thread; of single repetitions, too.
  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override;
  double run_with_load(std::int64_t, Timing, std::span<double>, LoadUse&) override { return 0; }
  std::int64_t check(std::int64_t repetitions) override;
  bool takes_part() const override { return members_.front()->takes_part(); }
  std::span<const double> of_threads() const override { return seconds_; }
  std::span<const double> waiting_of_threads() const override { return waiting_; }

 private:
  ThreadTeam& team_;
  const std::unique_ptr<Turn> turn_;
  const std::vector<std::unique_ptr<Batch>> members_;
  const std::function<void()> meet_ranks_;
  std::vector<double> seconds_;               ///< of the last run, by thread
  std::vector<double> waiting_;               ///< of it for turns; empty: there are none
  std::vector<std::vector<double>> samples_;  ///< the same of each repetition
};

}  // namespace openimb
