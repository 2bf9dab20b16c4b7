// The page for authors of benchmarks. A benchmark is a struct of static members; this file, engine/context.h,
// engine/expected.h, plan/spec.h and mpi/calls.h have all that it needs. docs/adding-a-benchmark.md adds one.
//
// Always:
//
//   static constexpr Spec spec{.name = "Allgather", .receive = Extent::per_rank};
//       What the benchmark is.
//
//   template <class C> static void step(const C& c, const Lap& lap);
//       One repetition, timed: nothing but the MPI calls under test. `c` is a MessageContext, WindowContext
//       or FileContext, by Spec::access.
//
//   static Expected expects(const Endpoint& e);
//       What a repetition must have delivered. For -check; never timed. Not for files.
//
// Where it needs them. Of those marked with *, a pattern has a list, as
//
//   static constexpr Members members{.prepare = true, .close = true};
//
// and so has its Loop. A pattern that has one that it does not list, or lists one that it does not have, does
// not compile: the engine finds them by name (engine/members.h).
//
//   template <class C> static auto prepare(const C& c, const LapPlan& plan);  *
//       Untimed: makes what the benchmark owns for a point, an RAII object. Called by all ranks of the group
//       in the same order, and destroyed in the same order. `plan.at(slot)` has the buffers of each
//       Lap::slot. The object has `view()`: handles or pointers, as a small value. `step`, `close` and `post`
//       take it as their third argument, by value like the context, so that the loop keeps it in registers.
//
//   template <class C> static auto epoch(const C& c);  *
//       Untimed: an access epoch (a lock, a fence) that is open around each run; an RAII object.
//
//   template <class C> static void close(const C& c);  *
//       Timed: completes a repetition's step, or, in aggregate mode, those of all repetitions at once.
//
//   template <class C> static void open(const C& c);  *
//       Timed: begins what `close` ends, as often, before the steps.
//
//   template <class C> static void post(const C& c, const Lap& lap, MPI_Request* request);
//       Of nonblocking benchmarks: starts what `step` starts and completes. The engine computes in between.
//
//   template <class C> static void finish(const C& c, const Lap& lap, MPI_Request* request);  *
//       Where a wait for the request does not complete what `post` started. With a view, third, where
//       `prepare` makes one.
//
//   using Loop = ...;
//       The type whose `step`, `close`, `post` and `finish` these are, where several benchmarks repeat the
//       same calls: their loops are compiled once.
//
//   using Move = ...; using LocalLoop = ...; static Traffic traffic(const Endpoint& e);
//       Of one-sided benchmarks with Spec::one_sided.any_sync: the transfers that -sync_mode completes in
//       other ways, the loop with local completion, and who accesses whom (engine/sync_loops.h).
//
//   template <SendMode mode = SendMode::standard, class C> static void step(const C& c, const Lap& lap);
//   routes, post, start_ready or step_ready *
//       Of benchmarks with Spec::send_modes: the repetition in another mode of its sends; whom receives
//       that are posted ahead come from, what posts them, and the ready sends (engine/send_loops.h).
//
//   template <class With, class C>
//   static void step_packed(const C& c, const Lap& lap, PackedMessages::View v);  *
//       Of benchmarks with Spec::packs that answer what they receive: the repetition with -packing
//       (engine/packing.h).
//
//   static bool takes_part(const Endpoint& e);   * some ranks of the group are idle
//   static int peer_of(const Endpoint& e);       * the other rank of a pair is not the right neighbor
//   static bool updates(const Endpoint& e);      * the receive buffer is input, too, on some ranks
#pragma once

#include "engine/context.h"
#include "engine/expected.h"
#include "engine/members.h"
#include "engine/timed_loop.h"
#include "memory/memory.h"
#include "mpi/calls.h"
#include "mpi/window.h"
#include "plan/spec.h"

namespace openimb {

inline constexpr int message_tag = 1;

/// The tag of a message, 1 or 2: one of the thread's own where threads share a communicator.
template <class C>
constexpr int tag_of(const C& c, int tag) {
  if constexpr (requires { c.tag; }) {
    return tag + c.tag;
  } else {
    return tag;
  }
}

}  // namespace openimb
