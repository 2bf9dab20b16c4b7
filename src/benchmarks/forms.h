// Forms that make a benchmark from another one, for catalogs: Nonblocking<"Iscan", Scan>. Batches are
// compiled for the `Implementation` of a form. Its type does not have the name as a template argument,
// because the name would then be in every symbol and in the run-time type information.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "benchmarks/parallel_transfer.h"
#include "engine/pattern.h"
#include "mpi/persistent.h"

namespace openimb {

/// The type for which the batches of a catalog entry are compiled: its Implementation, or the benchmark
/// itself.
template <class Pattern>
struct BatchPattern {
  using Type = Pattern;
};
template <class Pattern>
  requires requires { typename Pattern::Implementation; }
struct BatchPattern<Pattern> {
  using Type = typename Pattern::Implementation;
};

/// A benchmark that runs only if the command line names it.
template <class Pattern>
struct OffByDefault {
  using Implementation = typename BatchPattern<Pattern>::Type;
  static constexpr Spec spec = off_by_default(Pattern::spec);
};

/// A second name of a benchmark, with the same loops.
template <Label name, class Pattern>
struct AlsoNamed {
  using Implementation = typename BatchPattern<Pattern>::Type;
  static constexpr Spec spec = also_named(name.view(), Pattern::spec);
};

/// The loop of a nonblocking collective. `post` starts it; `step` starts it and waits.
template <class Blocking>
struct NonblockingLoop : PatternBase {
  template <class C, class... ViewAndRequest>
  static void post(const C& c, const Iteration& it, ViewAndRequest... view_and_request) {
    Blocking::step(c, it, view_and_request...);
  }
  template <class C, class... View>
  static void step(const C& c, const Iteration& it, View... view) {
    MPI_Request request;
    post(c, it, view..., &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

/// The spec of a form that measures overlap with computation.
constexpr Spec overlap_spec(Spec spec) {
  spec.starts = true;
  spec.overlap = Overlap::matched;
  spec.table = &tables::overlap;
  return spec;
}

template <class Blocking>
struct NonblockingForm : Blocking {
  using Loop = NonblockingLoop<Blocking>;
  static constexpr Spec spec = overlap_spec(Blocking::spec);
};

/// The nonblocking form of a blocking collective. The engine computes between start and wait. `name` is also
/// the name of the call. Source: guide, "IMB-NBC Benchmarks".
template <Label name, class Blocking>
struct Nonblocking {
  using Implementation = NonblockingForm<Blocking>;
  static constexpr Spec spec = [] {
    Spec spec = Implementation::spec;
    spec.name = spec.needs = name.view();
    return spec;
  }();
};

constexpr Spec pure_spec(Spec spec) {
  spec.overlap = Overlap::none;
  spec.table = default_table(spec.kind);
  return off_by_default(spec);
}

template <class Overlapping>
struct PureForm : Overlapping {
  using Loop = LoopOf<Overlapping>;
  static constexpr Spec spec = pure_spec(Overlapping::spec);
};

/// A nonblocking or persistent form without computation between start and wait.
template <Label name, class Overlapping>
struct Pure {
  using Implementation = PureForm<typename Overlapping::Implementation>;
  static constexpr Spec spec = also_named(name.view(), pure_spec(Overlapping::spec));
};

/// The loop of all persistent collectives.
struct PersistentLoop : PatternBase {
  using Requests = PersistentRequests<1>;
  template <class C>
  static void post(const C&, const Iteration& it, Requests::View requests, MPI_Request* request) {
    *request = *requests.of(it.slot);
    MPI_Start(request);
  }
  template <class C>
  static void step(const C&, const Iteration& it, Requests::View requests) {
    MPI_Start(requests.of(it.slot));
    MPI_Wait(requests.of(it.slot), MPI_STATUS_IGNORE);
  }
};

template <class Blocking>
struct PersistentForm : Blocking {
  using Loop = PersistentLoop;
  static constexpr Spec spec = [] {
    Spec spec = overlap_spec(Blocking::spec);
    spec.requests_per_slot = 1;
    spec.unavailable = call::no_persistent_collectives_reason;
    spec.rooted = false;
    return spec;
  }();
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    PersistentLoop::Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      Blocking::step(c, plan.at(slot), call::PersistentInit{requests.add()});
    }
    return requests;
  }
};

/// The persistent form of a blocking collective. Its requests are created once for a point. The engine
/// computes between start and wait. A request cannot change its root, so the root is rank 0. Source: MPI 4.0,
/// section 6.13.
template <Label name, class Blocking>
struct Persistent {
  using Implementation = PersistentForm<Blocking>;
  static constexpr std::string_view suffix = "_init";
  static constexpr auto init_call = [] {
    std::array<char, Blocking::spec.name.size() + suffix.size()> text{};
    std::ranges::copy(suffix, std::ranges::copy(Blocking::spec.name, text.begin()).out);
    return text;
  }();
  static constexpr Spec spec = [] {
    Spec spec = Implementation::spec;
    spec.name = name.view();
    spec.needs = {init_call.data(), init_call.size()};
    return spec;
  }();
};

/// The loop of a request-based transfer.
template <class Move>
struct RequestLoop : PatternBase {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    MPI_Request request;
    Move::move(c, it, c.peer, c.peer_base, 0, 0, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

template <class Pattern>
struct RequestForm : Pattern {
  using Loop = RequestLoop<typename Pattern::Move>;
  static constexpr Spec spec = [] {
    Spec spec = Pattern::spec;
    spec.aggregation = Aggregation::none;
    spec.one_sided.sync = SyncMode::standard;
    spec.one_sided.any_sync = false;
    return off_by_default(spec);
  }();
};

/// The request-based form of a one-sided transfer by rank 0: MPI_Rput and others, then MPI_Wait. The wait
/// completes the transfer at the origin, as MPI_Win_flush_local does. At the target it is complete when the
/// lock around the batch is released. `name` is also the name of the call. Source: MPI 4.1, section 12.3.5.
template <Label name, class Pattern>
struct RequestBased {
  using Implementation = RequestForm<Pattern>;
  static constexpr Spec spec = [] {
    Spec spec = Implementation::spec;
    spec.name = spec.needs = name.view();
    spec.unavailable = call::no_request_reason(spec.name);
    return spec;
  }();
};

constexpr Spec threaded_spec(Spec spec) {
  spec.threaded = true;
  spec.send_modes = {};  // all threads would share the buffer of MPI_Buffer_attach
  spec.in_default_list = true;
  if (spec.message_rate) spec.table = &tables::message;
  if (spec.kind == Kind::single_transfer) {
    spec.kind = Kind::parallel_transfer;
    spec.table = &tables::range_and_bandwidth;
    spec.min_processes = 2;
  }
  return spec;
}

template <class Pattern>
struct ThreadedForm : Pattern {
  using Loop = LoopOf<Pattern>;
  static constexpr Spec spec = threaded_spec(Pattern::spec);
};

/// The threaded form of a single transfer. It runs on many pairs of ranks at once.
template <class Pattern>
  requires(Pattern::spec.kind == Kind::single_transfer)
struct ThreadedForm<Pattern> : Pattern {
  using Loop = LoopOf<Pattern>;
  static constexpr Spec spec = threaded_spec(Pattern::spec);
  static bool takes_part(const GroupRank& e) { return Pairs::takes_part(e); }
  static int peer_of(const GroupRank& e) { return Pairs::peer_of(e); }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, peer_of(e)); }
};

/// The threaded form of a benchmark: several threads of each process run its loop. Thread i communicates with
/// thread i of other processes.
template <Label name, class Pattern>
struct Threaded {
  using Implementation = ThreadedForm<Pattern>;
  static constexpr Spec spec = [] {
    Spec spec = Implementation::spec;
    spec.name = name.view();
    return spec;
  }();
};

}  // namespace openimb
