// What a thread among others of its process runs: the benchmark's own loop; the same with tags of its own,
// where threads share a communicator; or with a turn around each repetition, where MPI allows one thread at a
// time.
#pragma once

#include <memory>

#include "engine/batch.h"
#include "engine/thread_team.h"
#include "engine/wall_clock.h"

namespace openimb {

/// Its loop is compiled again, for a context with a tag.
template <class Pattern>
struct Tagged : Pattern {
  static constexpr bool among_threads = true;
};

/// The wait for the turn is timed apart: two clock reads for each repetition of a thread.
template <class Loop>
struct LoopInTurns : LoopBase {
  template <class C>
  static void step(const C& c, const Lap& lap) {
    const double begin = WallClock::now();
    c.turn->await(c.thread);
    *c.waiting += WallClock::now() - begin;
    Loop::step(c, lap);
    c.turn->pass(c.thread);
  }
};
template <class Pattern>
struct InTurns : Pattern {
  static constexpr bool among_threads = true;
  using Loop = LoopInTurns<LoopOf<Pattern>>;
};

/// Makes the batch that the setup asks for.
template <class Pattern, class Count>
struct ThreadBatch {
  static std::unique_ptr<Batch> make(std::unique_ptr<const Setup> setup) {
    if (setup->team.turn != nullptr) return make_batch<BatchOf<InTurns<Pattern>, Count>>(std::move(setup));
    if constexpr (Pattern::spec.kind == Kind::parallel_transfer) {
      if (setup->team.tagged) return make_batch<BatchOf<Tagged<Pattern>, Count>>(std::move(setup));
    }
    return make_batch<BatchOf<Pattern, Count>>(std::move(setup));
  }
};

}  // namespace openimb
