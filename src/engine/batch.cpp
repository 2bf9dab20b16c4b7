#include "engine/batch.h"

#include <algorithm>

#include "engine/buffers.h"
#include "model/synchronization.h"

namespace openimb {

BufferBatch::BufferBatch(const Spec& spec, const PatternHooks& hooks, std::unique_ptr<const Setup> setup)
    : spec_(spec), hooks_(hooks), setup_(std::move(setup)) {
  const bool target = spec_.one_sided.any_sync && needs_targets(setup_->window.sync);
  takes_part_ = target || hooks_.takes_part(setup_->group.me);
}

// Runs and checks the repetitions round by round. A round has one repetition or, in aggregate mode, as many
// as complete together: the number of disjoint sections of the buffers.
std::int64_t BufferBatch::check(std::int64_t repetitions) {
  if (!takes_part() && !exposes()) return 0;
  BufferCheck check(spec_, setup(), hooks_);
  std::int64_t defects = 0;
  MovingIterations iterations(plan());
  synchronize();  // wait until earlier transfers have arrived
  for (std::int64_t done = 0; done < repetitions;) {
    const bool together = setup().aggregate;
    const std::int64_t round = together ? std::min(setup().buffers.geometry.sections, repetitions - done) : 1;
    defects += check_round(check, together ? MovingIterations(plan()) : iterations, done, round);
    for (std::int64_t i = 0; i < round; ++i) iterations.advance();
    done += round;
  }
  access_own_memory([&] {
    const int rank = setup().group.me.rank;
    fill_for_timing(*setup().buffers.send, setup().buffers.geometry.send.total, setup().buffers.element,
                    spec_, rank);
    fill_for_timing(*setup().buffers.receive, setup().buffers.geometry.receive.total, setup().buffers.element,
                    spec_, rank);
  });
  synchronize();
  return defects;
}

// Calls `function`, which loads and stores in this rank's buffers. With passive targets, a rank must lock its
// own window, so that its loads and stores are consistent with transfers of other ranks. With fences it needs
// no lock.
void BufferBatch::access_own_memory(const std::function<void()>& function) const {
  if (exposes() && uses_locks(spec_, setup().window.sync)) {
    const LockEpoch own(setup().group.me.rank, setup().window.win.handle(), MPI_LOCK_EXCLUSIVE);
    function();
  } else {
    function();
  }
}

void BufferBatch::synchronize() const {
  if (exposes()) setup().group.barrier(setup().group.control);
}

std::int64_t BufferBatch::check_round(BufferCheck& check, const MovingIterations& first, std::int64_t done,
                                      std::int64_t round) {
  std::vector<CheckedRepetition> repetitions;
  MovingIterations iterations = first;
  for (std::int64_t i = 0; i < round; ++i, iterations.advance()) {
    repetitions.push_back({done + i, iterations.current().slot, iterations.current().root});
  }
  access_own_memory([&] { check.arm(repetitions); });
  synchronize();
  if (takes_part()) repeat(first, round);
  synchronize();
  std::int64_t defects = 0;
  access_own_memory([&] { defects = check.count_defects(repetitions); });
  return defects;
}

}  // namespace openimb
