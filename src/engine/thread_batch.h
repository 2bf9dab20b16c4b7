// The batch of a thread of a team. It runs the ordinary loop of the benchmark. If threads share a
// communicator, the loop adds the thread's number to its tags. If MPI allows only one thread at a time, each
// repetition waits for its turn.
#pragma once

#include <memory>

#include "engine/batch.h"
#include "engine/thread_team.h"
#include "engine/wall_clock.h"

namespace openimb {

/// A separate type, so that the loop is compiled a second time for ThreadContext.
template <class Pattern>
struct TaggedPattern : Pattern {
  static constexpr bool among_threads = true;
};

/// A loop in which each repetition waits for its turn. Timing the wait costs two clock reads per repetition.
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

/// Makes the batch that TeamSetup asks for.
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
