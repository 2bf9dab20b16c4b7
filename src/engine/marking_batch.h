// A batch of partitioned messages whose parts a team of threads marks ready. The main thread runs the batch
// while the other threads mark parts.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/batch.h"
#include "engine/marking.h"
#include "engine/thread_team.h"

namespace openimb {

class MarkingBatch final : public Batch {
 public:
  /// The main thread calls `rank_barrier` before each run, to synchronize the ranks of the group.
  MarkingBatch(ThreadTeam& team, std::unique_ptr<Marking> marking, std::unique_ptr<Batch> batch,
               std::function<void()> rank_barrier)
      : team_(team),
        marking_(std::move(marking)),
        batch_(std::move(batch)),
        rank_barrier_(std::move(rank_barrier)) {}

  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) override {
    double seconds = 0;
    run_in_team([&] { seconds = batch_->run(repetitions, timing, repetition_seconds); });
    return seconds;
  }
  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                       LoadUse& load) override {
    double seconds = 0;
    run_in_team([&] { seconds = batch_->run_with_load(repetitions, timing, repetition_seconds, load); });
    return seconds;
  }
  std::int64_t check(std::int64_t repetitions) override {
    std::int64_t defects = 0;
    run_in_team([&] { defects = batch_->check(repetitions); });
    return defects;
  }
  bool takes_part() const override { return batch_->takes_part(); }

 private:
  /// Wakes all threads before the ranks synchronize, so that no run includes the time to wake a thread.
  void run_in_team(const std::function<void()>& work) {
    marking_->reset();
    team_.run([&](int thread) {
      team_.barrier();
      if (thread > 0) return marking_->serve(thread);
      rank_barrier_();
      work();
      marking_->end();
    });
  }

  ThreadTeam& team_;
  const std::unique_ptr<Marking> marking_;
  const std::unique_ptr<Batch> batch_;
  const std::function<void()> rank_barrier_;
};

/// A separate type, so that the loop is compiled a second time for MarkingContext.
template <class Pattern>
struct TeamMarkedPattern : Pattern {
  static constexpr bool marked_by_team = true;
};

/// Makes a batch with or without marking threads, by TeamSetup::marking.
template <class Pattern, class Count>
struct MarkedBatch {
  static std::unique_ptr<Batch> make(std::unique_ptr<const Setup> setup) {
    if constexpr (Pattern::spec.partitioned) {
      if (setup->team.marking != nullptr)
        return make_batch<BatchOf<TeamMarkedPattern<Pattern>, Count>>(std::move(setup));
    }
    return make_batch<BatchOf<Pattern, Count>>(std::move(setup));
  }
};

}  // namespace openimb
