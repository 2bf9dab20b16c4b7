// For authors of benchmarks: the base class of all benchmarks and its members. A benchmark is a struct with
// static members. It needs only this file, engine/context.h, engine/expected.h, model/spec.h and mpi/calls.h.
// docs/changing.md shows how to add a benchmark. engine/benchmark.h checks each benchmark that a catalog
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

/// Base class of benchmarks and of Loops. Every benchmark has
///
///   static constexpr Spec spec{.name = "Allgather", .receive = Messages::per_rank};
///       Describes the benchmark.
///
///   template <class C> static void step(const C& c, const Iteration& it);
///       Runs one repetition, timed: only the MPI calls under test. `c` is a MessageContext, WindowContext or
///       FileContext, by Spec::access.
///
///   static ExpectedContents expects(const GroupRank& e);
///       Returns what a repetition must have delivered. -check calls it; it is never timed. Benchmarks on
///       files do not have it.
///
/// Some fields of the Spec require further members:
///
///   template <class C> static void post(const C& c, const Iteration& it, MPI_Request* request);
///       For Spec::overlap. Starts the operation that `step` starts and completes. The engine then computes,
///       and calls `finish`.
///
///   using Move = ...; using LocalLoop = ...; static Traffic traffic(const GroupRank& e);
///       For OneSided::any_sync. `Move`: the transfer, which -sync_mode completes in another way.
///       `LocalLoop`: the loop with local completion. `traffic`: which ranks access which
///       (engine/sync_loops.h).
///
///   template <SendMode mode = SendMode::standard, class C> static void step(const C& c, const Iteration&
///   it);
///       For Spec::send_modes. Runs one repetition with another send mode (engine/send_loops.h).
///
///   using Loop = ...;
///       A type that has `step`, `open`, `close`, `post` and `finish` instead of the benchmark. Benchmarks
///       that repeat the same calls share a Loop, so that it is compiled once.
///
/// All members below are optional defaults. The engine finds members by name, and would silently use the
/// default instead of a misspelled member, so tests/test_architecture.py looks for members that no code
/// calls.
struct PatternBase : LoopBase {
  struct Nothing {};
  /// Untimed. Returns an RAII object that the benchmark owns for a point, such as requests. All ranks of the
  /// group make and destroy these objects in the same order. `plan.at(slot)` has the buffers of a slot. The
  /// object's `view()` returns a small value with handles or pointers. `step`, `close`, `post` and `finish`
  /// get this value after the iteration, by value like the context, so that the loop keeps it in registers.
  static constexpr auto prepare = [](const auto& /*c*/, const IterationPlan& /*plan*/) { return Nothing{}; };

  /// Untimed. Returns an RAII object that keeps an access epoch (a lock, a fence) open during each run.
  static constexpr auto epoch = [](const auto& /*c*/) { return Nothing{}; };

  // Timed: `open` and `close` of LoopBase. The engine calls `open` before a step and `close` after it or, in
  // aggregate mode, before and after all steps. `close` completes the steps and ends what `open` began.

  /// Timed. Completes what `post` started. A benchmark needs its own `finish` if MPI_Wait for one request is
  /// not enough.
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

  /// Whether a rank of the group takes part. The other ranks are idle.
  static constexpr auto takes_part = [](const GroupRank& /*e*/) { return true; };

  /// The other rank of a pair. The default is the right neighbor, which among two ranks is the other one.
  static constexpr auto peer_of = [](const GroupRank& e) { return e.right(); };

  /// For Spec::updates_receive: whether the receive buffer of this rank is also input.
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

/// The tag of a message. `tag` is 1 or 2. Threads that share a communicator add their own number to it.
template <class C>
constexpr int tag_of(const C& c, int tag) {
  if constexpr (requires { c.tag; }) {
    return tag + c.tag;
  } else {
    return tag;
  }
}

}  // namespace openimb
