// For authors of benchmarks: the base of all benchmarks and its members. A benchmark is a struct of static
// members; this file, engine/context.h, engine/expected.h, model/spec.h and mpi/calls.h have all that it
// needs. docs/changing.md shows how to add one. engine/benchmark.h checks each benchmark that a catalog
// lists.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>

#include "engine/context.h"
#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "memory/memory.h"
#include "model/spec.h"
#include "mpi/calls.h"
#include "mpi/window.h"

namespace openimb {

/// The base of a benchmark and of a Loop. Every benchmark has
///
///   static constexpr Spec spec{.name = "Allgather", .receive = Messages::per_rank};
///       What the benchmark is.
///
///   template <class C> static void step(const C& c, const Iteration& it);
///       One repetition, timed: only the MPI calls under test. `c` is a MessageContext, WindowContext or
///       FileContext, by Spec::access.
///
///   static Expected expects(const GroupRank& e);
///       What a repetition must have delivered. It is for -check and never timed. Files have none.
///
/// A Spec asks for further members:
///
///   template <class C> static void post(const C& c, const Iteration& it, MPI_Request* request);
///       Spec::overlap. Starts what `step` starts and completes. The engine computes in between.
///
///   using Move = ...; using LocalLoop = ...; static Traffic traffic(const GroupRank& e);
///       OneSided::any_sync. The transfers that -sync_mode completes in other ways, the loop with local
///       completion, and which ranks access which (engine/sync_loops.h).
///
///   template <SendMode mode = SendMode::standard, class C> static void step(const C& c, const Iteration&
///   it);
///       Spec::send_modes. The repetition with another send mode (engine/send_loops.h).
///
///   using Loop = ...;
///       Another type that has `step`, `open`, `close`, `post` and `finish`. Benchmarks that
///       repeat the same calls share one, so that their loops are compiled once.
///
/// All members below are optional; they are the defaults. The engine finds them by name, and would use the
/// default instead of a misspelled one: tests/test_architecture.py finds members that no code calls.
struct PatternBase : LoopBase {
  struct Nothing {};
  /// Untimed: makes what the benchmark owns for a point, an RAII object. All ranks of the group call it in
  /// the same order, and destroy the objects in the same order. `plan.at(slot)` has the buffers of each
  /// Iteration::slot. The object has `view()`: handles or pointers, as a small value. `step`, `close`, `post`
  /// and `finish` take it as their third argument, by value like the context, so that the loop keeps it in
  /// registers.
  static constexpr auto prepare = [](const auto& /*c*/, const IterationPlan& /*plan*/) { return Nothing{}; };

  /// Untimed: an access epoch (a lock, a fence) that is open around each run; an RAII object.
  static constexpr auto epoch = [](const auto& /*c*/) { return Nothing{}; };

  // Timed: `open` and `close`, from LoopBase. `close` completes the step of a repetition or, in aggregate
  // mode, the steps of all repetitions together. `open` is called before those steps and begins what `close`
  // ends.

  /// Timed: completes what `post` started. Needed where a wait for its request is not enough.
  static constexpr struct {
    template <class C>
    void operator()(const C& /*c*/, const Iteration& /*iteration*/, MPI_Request* request) const {
      MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    template <class C, class View>
    void operator()(const C& c, const Iteration& it, const View& /*view*/, MPI_Request* request) const {
      (*this)(c, it, request);
    }
  } finish{};

  /// Whether a rank of the group takes part; others are idle.
  static constexpr auto takes_part = [](const GroupRank& /*e*/) { return true; };

  /// The other rank of a pair. The default is the right neighbor, which of two processes is the other one.
  static constexpr auto peer_of = [](const GroupRank& e) { return e.right(); };

  /// Whether the receive buffer of this rank is also input. For benchmarks with Spec::updates_receive.
  static constexpr auto updates = [](const GroupRank& /*e*/) { return true; };
};

/// Whether a benchmark prepares objects for a point.
template <class Pattern>
concept Prepares =
    !requires { requires std::same_as<decltype(Pattern::prepare), decltype(PatternBase::prepare)>; };

/// A benchmark's name as a template argument.
template <std::size_t size>
struct Label {
  char text[size]{};
  // NOLINTNEXTLINE(google-explicit-constructor): written as a literal
  constexpr Label(const char (&literal)[size]) { std::ranges::copy(literal, text); }
  constexpr std::string_view view() const { return {text, size - 1}; }
};

inline constexpr int message_tag = 1;

/// The tag of a message. `tag` is 1 or 2; threads that share a communicator add a number of their own.
template <class C>
constexpr int tag_of(const C& c, int tag) {
  if constexpr (requires { c.tag; }) {
    return tag + c.tag;
  } else {
    return tag;
  }
}

}  // namespace openimb
