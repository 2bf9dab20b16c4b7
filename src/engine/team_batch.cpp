#include "engine/team_batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace openimb {

TeamBatch::TeamBatch(ThreadTeam& team, std::vector<std::unique_ptr<Batch>> batches,
                     std::unique_ptr<Turn> turn, std::function<void()> rank_barrier)
    : team_(team),
      turn_(std::move(turn)),
      batches_(std::move(batches)),
      rank_barrier_(std::move(rank_barrier)),
      seconds_(batches_.size()),
      waiting_(turn_ ? batches_.size() : 0),
      seconds_of_repetitions_(batches_.size()) {}

// Wakes the threads before the ranks synchronize. The threads begin as soon as the ranks have synchronized.
double TeamBatch::run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) {
  team_.run([&](int thread) {
    const auto index = static_cast<std::size_t>(thread);
    std::vector<double>& mine = seconds_of_repetitions_[index];
    if (!repetition_seconds.empty()) mine.assign(repetition_seconds.size(), 0.0);
    team_.barrier();
    if (thread == 0) rank_barrier_();
    team_.barrier();
    if (turn_) turn_->waiting(thread) = 0;
    seconds_[index] = batches_[index]->run(repetitions, timing, mine);
    if (turn_) waiting_[index] = turn_->waiting(thread);
  });
  if (!repetition_seconds.empty()) {
    std::ranges::fill(repetition_seconds, 0.0);
    for (const std::vector<double>& thread_times : seconds_of_repetitions_) {
      std::ranges::transform(repetition_seconds, thread_times, repetition_seconds.begin(),
                             [](double a, double b) { return std::max(a, b); });
    }
  }
  return std::ranges::max(seconds_);
}

std::int64_t TeamBatch::check(std::int64_t repetitions) {
  std::vector<std::int64_t> defects(batches_.size());
  team_.run([&](int thread) {
    const auto index = static_cast<std::size_t>(thread);
    defects[index] = batches_[index]->check(repetitions);
  });
  return std::reduce(defects.begin(), defects.end());
}

}  // namespace openimb
