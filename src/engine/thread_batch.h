// The batch of a thread of a team. It runs the ordinary loop of the benchmark; or the same with tags of the
// thread, if threads share a communicator; or each repetition in its turn, if MPI allows one thread at a
// time.
#pragma once

#include <memory>

#include "engine/batch.h"
#include "engine/thread_team.h"
#include "engine/wall_clock.h"

namespace openimb {

/// A type of its own, so that the loop is compiled again, for a context with a tag.
template <class Pattern>
struct TaggedPattern : Pattern {
  static constexpr bool among_threads = true;
};

/// Each repetition waits for its turn. Timing the wait separately costs two clock reads per repetition.
template <class Loop>
struct TurnLoop : LoopBase {
  using Clock = TurnClock;
  template <class C>
  static void step(const C& c, const Iteration& it) {
    const double begin = Clock::now();
    c.turn->await(c.thread);
    *c.waiting += Clock::now() - begin;
    Loop::step(c, it);
    c.turn->pass(c.thread);
  }
};
template <class Pattern>
struct TurnPattern : Pattern {
  static constexpr bool among_threads = true;
  using Loop = TurnLoop<LoopOf<Pattern>>;
};

/// Makes the batch that the setup asks for.
template <class Pattern, class Count>
struct ThreadBatch {
  static std::unique_ptr<Batch> make(std::unique_ptr<const Setup> setup) {
    if (setup->team.turn != nullptr)
      return make_batch<BatchOf<TurnPattern<Pattern>, Count>>(std::move(setup));
    if constexpr (Pattern::spec.kind == Kind::parallel_transfer) {
      if (setup->team.tagged) return make_batch<BatchOf<TaggedPattern<Pattern>, Count>>(std::move(setup));
    }
    return make_batch<BatchOf<Pattern, Count>>(std::move(setup));
  }
};

}  // namespace openimb
