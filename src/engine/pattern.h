// The page for authors of benchmarks: the base of all benchmarks and its members. A benchmark is a struct of
// static members; this file, engine/context.h, engine/expected.h, plan/spec.h and mpi/calls.h have all that
// it needs. docs/changing.md adds one. engine/benchmark.h checks each that a catalog lists.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

#include "engine/context.h"
#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "memory/memory.h"
#include "mpi/calls.h"
#include "mpi/window.h"
#include "plan/spec.h"

namespace openimb {

/// Which optional members a benchmark, or its Loop, has. The engine finds them by name, and one that is
/// misspelled would leave the base's in its place. C++20 cannot list the members of a type, so the author
/// does.
struct Members {
  bool prepare = false;
  bool epoch = false;
  bool open = false;
  bool close = false;
  bool finish = false;
  bool takes_part = false;
  bool peer_of = false;
  bool updates = false;
  bool step_ready = false;
  bool step_packed = false;

  constexpr Members operator|(const Members& more) const {
    return {.prepare = prepare || more.prepare,
            .epoch = epoch || more.epoch,
            .open = open || more.open,
            .close = close || more.close,
            .finish = finish || more.finish,
            .takes_part = takes_part || more.takes_part,
            .peer_of = peer_of || more.peer_of,
            .updates = updates || more.updates,
            .step_ready = step_ready || more.step_ready,
            .step_packed = step_packed || more.step_packed};
  }
};

/// The base of a benchmark and of a Loop. Every benchmark has
///
///   static constexpr Spec spec{.name = "Allgather", .receive = Extent::per_rank};
///       What the benchmark is.
///
///   template <class C> static void step(const C& c, const Lap& lap);
///       One repetition, timed: only the MPI calls under test. `c` is a MessageContext, WindowContext or
///       FileContext, by Spec::access.
///
///   static Expected expects(const Endpoint& e);
///       What a repetition must have delivered. It is for -check and never timed. Files have none.
///
/// A Spec asks for further members:
///
///   template <class C> static void post(const C& c, const Lap& lap, MPI_Request* request);
///       Spec::overlap. Starts what `step` starts and completes. The engine computes in between.
///
///   using Move = ...; using LocalLoop = ...; static Traffic traffic(const Endpoint& e);
///       OneSided::any_sync. The transfers that -sync_mode completes in other ways, the loop with local
///       completion, and who accesses whom (engine/sync_loops.h).
///
///   template <SendMode mode = SendMode::standard, class C> static void step(const C& c, const Lap& lap);
///       Spec::send_modes. The repetition in another mode of its sends. Ready sends need `routes`, which
///       lists whom receives that are posted ahead come from, `post`, which posts them, and `start_ready` or
///       `step_ready` (engine/send_loops.h).
///
///   using Loop = ...;
///       The type whose `step`, `open`, `close`, `post`, `finish` and `step_packed` these are, where several
///       benchmarks repeat the same calls: their loops are compiled once.
///
/// All members below are optional: what is written here is used where a benchmark has none of the name. They
/// are objects, not functions, so that a benchmark's own member has another type.
struct PatternBase : LoopBase {
  /// The list of the optional members that replace those below, as Members{.prepare = true, .close = true}.
  /// An entry in a catalog compiles only if the list is right.
  static constexpr Members members{};

  struct Nothing {};
  /// Untimed: makes what the benchmark owns for a point, an RAII object. All ranks of the group call it in
  /// the same order, and destroy the objects in the same order. `plan.at(slot)` has the buffers of each
  /// Lap::slot. The object has `view()`: handles or pointers, as a small value. `step`, `close`, `post` and
  /// `finish` take it as their third argument, by value like the context, so that the loop keeps it in
  /// registers.
  static constexpr auto prepare = [](const auto& /*c*/, const LapPlan& /*plan*/) { return Nothing{}; };

  /// Untimed: an access epoch (a lock, a fence) that is open around each run; an RAII object.
  static constexpr auto epoch = [](const auto& /*c*/) { return Nothing{}; };

  // Timed. `open` and `close` come from LoopBase: `close` completes a repetition's step, or, in aggregate
  // mode, those of all repetitions at once; `open` begins what `close` ends, as often, before the steps.

  /// Timed: completes what `post` started, where a wait for its request does not.
  static constexpr struct {
    template <class C>
    void operator()(const C& /*c*/, const Lap& /*lap*/, MPI_Request* request) const {
      MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    template <class C, class View>
    void operator()(const C& c, const Lap& lap, const View& /*view*/, MPI_Request* request) const {
      (*this)(c, lap, request);
    }
  } finish{};

  /// Whether a rank of the group takes part; others are idle.
  static constexpr auto takes_part = [](const Endpoint& /*e*/) { return true; };

  /// The other rank of a pair: the right neighbor, which of two processes is the other one.
  static constexpr auto peer_of = [](const Endpoint& e) { return e.right(); };

  /// On which ranks the receive buffer of a benchmark with Spec::updates_receive is input, too.
  static constexpr auto updates = [](const Endpoint& /*e*/) { return true; };

  /// step_ready(c, lap, posted): the whole repetition with ready sends, where `post` and `start_ready` are
  /// not enough.
  static constexpr Nothing step_ready{};

  /// step_packed<With>(c, lap, packed): the repetition with -packing of a benchmark that answers what it
  /// receives, or has a root (engine/packing.h).
  static constexpr Nothing step_packed{};
};

/// Whether a benchmark or a Loop has a member of its own, and whether its list has it.
#define OPENIMB_OPTIONAL_MEMBER(member)                                                               \
  template <class Pattern>                                                                            \
  concept Defines_##member =                                                                          \
      !requires { requires std::same_as<decltype(Pattern::member), decltype(PatternBase::member)>; }; \
  template <class Pattern>                                                                            \
  concept Lists_##member = bool(Pattern::members.member) == Defines_##member<Pattern>;
OPENIMB_OPTIONAL_MEMBER(prepare)
OPENIMB_OPTIONAL_MEMBER(epoch)
OPENIMB_OPTIONAL_MEMBER(open)
OPENIMB_OPTIONAL_MEMBER(close)
OPENIMB_OPTIONAL_MEMBER(finish)
OPENIMB_OPTIONAL_MEMBER(takes_part)
OPENIMB_OPTIONAL_MEMBER(peer_of)
OPENIMB_OPTIONAL_MEMBER(updates)
OPENIMB_OPTIONAL_MEMBER(step_ready)
OPENIMB_OPTIONAL_MEMBER(step_packed)
#undef OPENIMB_OPTIONAL_MEMBER

/// A benchmark's name as a template argument.
template <std::size_t size>
struct Label {
  char text[size]{};
  // NOLINTNEXTLINE(google-explicit-constructor): written as a literal
  constexpr Label(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  constexpr std::string_view view() const { return {text, size - 1}; }
};

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
