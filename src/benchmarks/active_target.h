// IMB-EXT: one-sided transfers that MPI_Win_fence completes on all ranks, and the creation of windows.
// Source: guide, "IMB-EXT Benchmarks".
#pragma once

#include <algorithm>

#include "benchmarks/one_sided.h"

namespace openimb {

/// The Spec of a transfer of IMB-EXT.
constexpr Spec fence_spec(std::string_view name, Kind kind, ExposedBuffer exposed) {
  return {.name = name,
          .kind = kind,
          .access = Access::active_target,
          .aggregation = Aggregation::aggregate_first,
          .one_sided = {
              .exposed = exposed, .lengths_of_reductions = true, .sync = SyncMode::fence, .any_sync = true}};
}

/// The base of transfers that a fence completes.
struct FencePattern : PatternBase {
  template <class C>
  static FenceEpoch epoch(const C& c) {
    return FenceEpoch(c.win);
  }
  template <class C>
  static void close(const C& c) {
    MPI_Win_fence(0, c.win);
  }
};

/// A transfer between ranks 0 and 1. `What`: the transfer (Put, Get). `Ways`: its origins (OneWay, BothWays).
template <class What, class Ways>
struct FencePair : FencePattern {
  using Move = What;
  template <class C>
  static void step(const C& c, const Iteration& it) {
    if (Ways::is_origin(c.rank)) Move::move(c, it, c.peer, c.peer_base, 0, 0);
  }
  static ExpectedContents expects(const GroupRank& e) { return pair_contents<Move, Ways>(e); }
  static Traffic traffic(const GroupRank& e) { return traffic_of_pair<Ways>(e); }
};

struct Unidir_Put : FencePair<Put, OneWay> {
  static constexpr Spec spec = fence_spec("Unidir_Put", Kind::single_transfer, Put::exposed);
};
struct Unidir_Get : FencePair<Get, OneWay> {
  static constexpr Spec spec = fence_spec("Unidir_Get", Kind::single_transfer, Get::exposed);
};
struct Bidir_Put : FencePair<Put, BothWays> {
  static constexpr Spec spec = fence_spec("Bidir_Put", Kind::single_transfer, Put::exposed);
};
struct Bidir_Get : FencePair<Get, BothWays> {
  static constexpr Spec spec = fence_spec("Bidir_Get", Kind::single_transfer, Get::exposed);
};

/// Every rank, including rank 0, adds its message to the window of rank 0.
struct FencedAccumulate : FencePattern {
  using Move = Add;
  static bool updates(const GroupRank& e) { return e.rank == 0; }
  static constexpr Spec spec = [] {
    Spec spec = fence_spec("Accumulate", Kind::collective, ExposedBuffer::receive);
    spec.reduction = spec.updates_receive = true;
    return spec;
  }();
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::accumulate(it.send, c.count, c.type, 0, displacement_of(c, it, c.bases[0], 0), c.op, c.win);
  }
  static Traffic traffic(const GroupRank& e) { return traffic_to_root(e); }
  static ExpectedContents expects(const GroupRank& e) {
    return {{.count = updates(e) ? e.elements : 0, .added = true, .summed = e.ranks}};
  }
};

/// The displacement of the first byte of `memory` in this rank's window: 0, or in a dynamic window its
/// address.
template <class C>
MPI_Aint base_of(const C& c, const void* memory) {
  return c.window_kind == WindowKind::dynamic ? reinterpret_cast<MPI_Aint>(memory) : 0;
}

/// Creates a window, puts one element to the same rank, and frees the window.
struct WindowCreation : PatternBase {
  static constexpr Spec spec{.name = "Window",
                             .access = Access::active_target,
                             .one_sided = {.lengths_of_reductions = true, .sync = SyncMode::fence}};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    void* memory = it.receive;
    MPI_Win win = MPI_WIN_NULL;
    open_window(c.window_kind, memory, c.window_bytes, c.info, c.comm, win);
    MPI_Win_fence(0, win);
    call::put(it.send, std::min<decltype(c.count)>(1, c.count), c.element, c.rank, base_of(c, memory), win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return {{e.rank, 0, 0, e.own_window ? std::min<std::int64_t>(1, e.elements) : 0}};
  }
};

/// Each rank attaches memory to a dynamic window and detaches it. All ranks do so at the same time, without
/// synchronization. No data is moved.
struct Attach_detach : PatternBase {
  static constexpr Spec spec{.name = "Attach_detach",
                             .send = Messages::none,
                             .access = Access::active_target,
                             .one_sided = {.lengths_of_reductions = true, .window = WindowKind::dynamic},
                             .in_default_list = false,
                             .needs = "Win_detach",
                             .measures =
                                 "Time of MPI_Win_attach and MPI_Win_detach of memory of this size; no data "
                                 "is moved."};
  template <class C>
  static DynamicWindow prepare(const C& c, const IterationPlan&) {
    return {c.info, c.comm};
  }
  template <class C>
  static void step(const C& c, const Iteration& it, MPI_Win win) {
    MPI_Win_attach(win, it.receive, at_least_one_byte(c.window_bytes));
    MPI_Win_detach(win, it.receive);
  }
  static ExpectedContents expects(const GroupRank&) { return {}; }
};

}  // namespace openimb
