// IMB-RMA: one-sided transfers that the origin completes without the target. The origin holds a lock during
// the batch. Targets wait in a barrier, unless they are also origins. Source: guide, "IMB-RMA Benchmarks".
#pragma once

#include "benchmarks/one_sided.h"

namespace openimb {

/// The Spec of a benchmark of IMB-RMA.
constexpr Spec passive_spec(std::string_view name, Kind kind, ExposedBuffer exposed) {
  return {.name = name,
          .kind = kind,
          .access = Access::passive_target,
          .one_sided = {.exposed = exposed, .sync = SyncMode::flush}};
}

/// The Spec of a benchmark with two ranks that has both modes, aggregate and non-aggregate.
constexpr Spec pair_spec(std::string_view name, ExposedBuffer exposed, bool in_default_list = true) {
  Spec spec = passive_spec(name, Kind::single_transfer, exposed);
  spec.aggregation = Aggregation::non_aggregate_first;
  spec.in_default_list = in_default_list;
  spec.one_sided.any_sync = true;
  return spec;
}

/// The Spec of a benchmark that by definition completes at the origin only, so that -sync_mode cannot change
/// it.
constexpr Spec local_spec(Spec spec) {
  spec.one_sided.sync = SyncMode::flush_local;
  spec.one_sided.any_sync = false;
  return spec;
}

/// Where a flush completes transfers: at origin and target, or at the origin only.
struct TargetCompletion {
  static void flush(int target, MPI_Win win) { MPI_Win_flush(target, win); }
  static void flush_all(MPI_Win win) { MPI_Win_flush_all(win); }
};
struct OriginCompletion {
  static void flush(int target, MPI_Win win) { MPI_Win_flush_local(target, win); }
  static void flush_all(MPI_Win win) { MPI_Win_flush_local_all(win); }
};

/// The base of transfers with the peer, whose window the origin locks during the batch.
template <class Ways>
struct PeerLockPattern : PatternBase {
  static bool takes_part(const GroupRank& e) { return Ways::is_origin(e.rank); }
  template <class C>
  static LockEpoch epoch(const C& c) {
    return LockEpoch(c.peer, c.win);
  }
};

template <class Completion>
struct PeerFlush : PatternBase {
  template <class C>
  static void close(const C& c) {
    Completion::flush(c.peer, c.win);
  }
};

template <class Move, class Completion>
struct PeerLoop : PeerFlush<Completion> {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Move::move(c, it, c.peer, c.peer_base, 0, 0);
  }
};

/// A transfer between ranks 0 and 1. `What`: the transfer (Put, Get). `Ways`: its origins (OneWay, BothWays).
template <class What, class Ways, class Completion = TargetCompletion>
struct PassivePair : PeerLockPattern<Ways> {
  using Move = What;
  using Loop = PeerLoop<Move, Completion>;
  using LocalLoop = PeerLoop<Move, OriginCompletion>;
  static ExpectedContents expects(const GroupRank& e) { return pair_contents<Move, Ways>(e); }
  static Traffic traffic(const GroupRank& e) { return traffic_of_pair<Ways>(e); }
};

struct Unidir_put : PassivePair<Put, OneWay> {
  static constexpr Spec spec = pair_spec("Unidir_put", Put::exposed);
};
struct Unidir_get : PassivePair<Get, OneWay> {
  static constexpr Spec spec = pair_spec("Unidir_get", Get::exposed);
};
struct Bidir_put : PassivePair<Put, BothWays> {
  static constexpr Spec spec = pair_spec("Bidir_put", Put::exposed);
};
struct Bidir_get : PassivePair<Get, BothWays> {
  static constexpr Spec spec = pair_spec("Bidir_get", Get::exposed);
};
struct Put_local : PassivePair<Put, OneWay, OriginCompletion> {
  static constexpr Spec spec = local_spec(pair_spec("Put_local", Put::exposed));
};
struct Get_local : PassivePair<Get, OneWay, OriginCompletion> {
  static constexpr Spec spec = local_spec(pair_spec("Get_local", Get::exposed, false));
};

/// A put to a target that waits in a barrier, and again to a target that computes outside MPI.
struct Truly_passive_put : PassivePair<Put, OneWay> {
  static constexpr Spec spec = [] {
    Spec spec = passive_spec("Truly_passive_put", Kind::single_transfer, Put::exposed);
    spec.table = &tables::passive;
    spec.one_sided.computing_target = true;
    spec.notes =
        "#     The benchmark measures execution time of MPI_Put for 2 cases:\n"
        "#     1) The target is waiting in MPI_Barrier call (t_pure value)\n"
        "#     2) The target performs computation and then enters MPI_Barrier routine (t_ovrl value)\n";
    return spec;
  }();
};

/// The origins of transfers with all other ranks. OneOrigin: rank 0. AllOrigins: all ranks. If every rank
/// puts, the target's window has one message per origin; a get has one message per target in the receive
/// buffer.
struct OneOrigin {
  static constexpr Kind kind = Kind::multiple_transfer;
  static bool is_origin(int rank) { return rank == 0; }
};
struct AllOrigins {
  static constexpr Kind kind = Kind::parallel_transfer;
  static bool is_origin(int) { return true; }
};

template <class Origins>
constexpr Spec all_targets_spec(std::string_view name, ExposedBuffer exposed, bool in_default_list = true) {
  Spec spec = passive_spec(name, Origins::kind, exposed);
  spec.receive = exposed == ExposedBuffer::receive && Origins::kind == Kind::multiple_transfer
                     ? Messages::one
                     : Messages::per_rank;
  if (Origins::kind == Kind::parallel_transfer) spec.table = &tables::range;
  spec.one_sided.any_sync = true;
  spec.min_processes = 2;
  spec.in_default_list = in_default_list;
  return spec;
}

template <class Move, class Completion>
struct AllTargetsLoop : PatternBase {
  static constexpr bool puts = Move::exposed == ExposedBuffer::receive;
  template <class C>
  static void step(const C& c, const Iteration& it) {
    for (int i = 0; i < c.ranks - 1; ++i) {
      const int target = c.others[i];
      Move::move(c, it, target, c.bases[target], 0, puts ? c.rank : target);
    }
  }
  template <class C>
  static void close(const C& c) {
    Completion::flush_all(c.win);
  }
};

template <class What, class Origins, class Completion = TargetCompletion>
struct AllTargetsPattern : PatternBase {
  using Move = What;
  using Loop = AllTargetsLoop<Move, Completion>;
  using LocalLoop = AllTargetsLoop<Move, OriginCompletion>;
  static bool takes_part(const GroupRank& e) { return Origins::is_origin(e.rank); }
  template <class C>
  static LockAllEpoch epoch(const C& c) {
    return LockAllEpoch(c.win);
  }
  static ExpectedContents expects(const GroupRank& e) {
    constexpr bool puts = Loop::puts;
    if (!puts && !Origins::is_origin(e.rank)) return {};
    ExpectedContents expected = message_of_each(e, 0);
    std::erase_if(expected, [&](const Piece& piece) {
      return piece.rank == e.rank || (puts && !Origins::is_origin(piece.rank));
    });
    return expected;
  }
  static Traffic traffic(const GroupRank& e) {
    Traffic traffic;
    for (int step = 1; step < e.ranks; ++step) {
      const int other = (e.rank + step) % e.ranks;
      if (Origins::is_origin(e.rank)) {
        traffic.transfers.push_back({.target = other, .to = Loop::puts ? e.rank : other});
      }
      if (Origins::is_origin(other)) traffic.origins.push_back(other);
    }
    return traffic;
  }
};

struct One_put_all : AllTargetsPattern<Put, OneOrigin> {
  static constexpr Spec spec = all_targets_spec<OneOrigin>("One_put_all", Put::exposed);
};
struct One_get_all : AllTargetsPattern<Get, OneOrigin> {
  static constexpr Spec spec = all_targets_spec<OneOrigin>("One_get_all", Get::exposed);
};
struct All_put_all : AllTargetsPattern<Put, AllOrigins> {
  static constexpr Spec spec = all_targets_spec<AllOrigins>("All_put_all", Put::exposed);
};
struct All_get_all : AllTargetsPattern<Get, AllOrigins> {
  static constexpr Spec spec = all_targets_spec<AllOrigins>("All_get_all", Get::exposed);
};
struct Put_all_local : AllTargetsPattern<Put, OneOrigin, OriginCompletion> {
  static constexpr Spec spec = local_spec(all_targets_spec<OneOrigin>("Put_all_local", Put::exposed));
};
struct Get_all_local : AllTargetsPattern<Get, OneOrigin, OriginCompletion> {
  static constexpr Spec spec = local_spec(all_targets_spec<OneOrigin>("Get_all_local", Get::exposed, false));
};

constexpr Spec neighbors_spec(std::string_view name, ExposedBuffer exposed) {
  Spec spec = passive_spec(name, Kind::parallel_transfer, exposed);
  spec.send = spec.receive = Messages::two;
  spec.table = &tables::range;
  spec.one_sided.any_sync = true;
  return spec;
}

template <class Move, class Completion>
struct NeighborsLoop : PatternBase {
  static constexpr bool puts = Move::exposed == ExposedBuffer::receive;
  template <class C>
  static void step(const C& c, const Iteration& it) {
    const int first = puts ? c.right : c.left;
    const int second = puts ? c.left : c.right;
    Move::move(c, it, first, c.bases[first], 0, 0);
    Move::move(c, it, second, c.bases[second], 1, 1);
  }
  template <class C>
  static void close(const C& c) {
    Completion::flush(c.right, c.win);
    Completion::flush(c.left, c.win);
  }
};

/// Transfers with both neighbors in the periodic chain, as in Exchange: message 0 goes to the right, message
/// 1 to the left.
template <class What>
struct NeighborsPattern : PatternBase {
  using Move = What;
  using Loop = NeighborsLoop<Move, TargetCompletion>;
  using LocalLoop = NeighborsLoop<Move, OriginCompletion>;
  template <class C>
  static TwoLocksEpoch epoch(const C& c) {
    return TwoLocksEpoch(c.left, c.right, c.win);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return {{e.left(), 0, 0, e.elements}, {e.right(), e.elements, e.elements, e.elements}};
  }
  static Traffic traffic(const GroupRank& e) {
    const int first = Loop::puts ? e.right() : e.left();
    const int second = Loop::puts ? e.left() : e.right();
    return {.transfers = {{first, 0, 0}, {second, 1, 1}}, .origins = {first, second}};
  }
};

struct Exchange_put : NeighborsPattern<Put> {
  static constexpr Spec spec = neighbors_spec("Exchange_put", Put::exposed);
};
struct Exchange_get : NeighborsPattern<Get> {
  static constexpr Spec spec = neighbors_spec("Exchange_get", Get::exposed);
};

constexpr Spec atomic_spec(std::string_view name) {
  Spec spec = pair_spec(name, ExposedBuffer::receive);
  spec.reduction = spec.updates_receive = true;
  return spec;
}

/// The Spec of an atomic operation on one element.
constexpr Spec atomic_word_spec(std::string_view name) {
  Spec spec = atomic_spec(name);
  spec.one_sided.single_element = true;
  spec.needs = name;
  return spec;
}

/// Updates memory of the target, and fetches the previous contents into the receive buffer.
struct FetchAndAdd {
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    const MPI_Aint at = displacement_of(c, it, base, to);
    call::get_accumulate(it.send + from * c.message_stride, it.receive, c.count, c.type, target, at, c.op,
                         c.win, request...);
  }
};
struct FetchAndOp {
  template <class C>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to) {
    const MPI_Aint at = displacement_of(c, it, base, to);
    MPI_Fetch_and_op(it.send + from * c.message_stride, it.receive, c.type, target, at, c.op, c.win);
  }
};
/// Compares the target's value with the next message of the send buffer.
struct CompareAndSwap {
  template <class C>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to) {
    const MPI_Aint at = displacement_of(c, it, base, to);
    char* const out = it.send + from * c.message_stride;
    MPI_Compare_and_swap(out, out + c.message_stride, it.receive, c.type, target, at, c.win);
  }
};

inline bool updates_of_rank_1(const GroupRank& e) { return e.rank == 1; }
inline ExpectedContents added_by_rank_0(const GroupRank& e) { return {{0, 0, 0, e.elements, true}}; }
inline ExpectedContents fetched_content(const GroupRank& e) { return message_of(e, initial_content(e)); }

/// An atomic operation of rank 0 on the memory of rank 1.
template <class What>
struct Atomic : PeerLockPattern<OneWay> {
  using Move = What;
  using Loop = PeerLoop<Move, TargetCompletion>;
  using LocalLoop = PeerLoop<Move, OriginCompletion>;
  static bool updates(const GroupRank& e) { return updates_of_rank_1(e); }
  static Traffic traffic(const GroupRank& e) { return traffic_of_pair<OneWay>(e); }
};

struct Accumulate : Atomic<Add> {
  static constexpr Spec spec = atomic_spec("Accumulate");
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank == 1 ? added_by_rank_0(e) : ExpectedContents{};
  }
};

struct Get_accumulate : Atomic<FetchAndAdd> {
  static constexpr Spec spec = [] {
    Spec spec = atomic_spec("Get_accumulate");
    spec.needs = spec.name;
    return spec;
  }();
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank == 1 ? added_by_rank_0(e) : fetched_content(e);
  }
};

struct Fetch_and_op : Atomic<FetchAndOp> {
  static constexpr Spec spec = atomic_word_spec("Fetch_and_op");
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank == 1 ? added_by_rank_0(e) : fetched_content(e);
  }
};

/// Message 0 of the send buffer replaces the target's value if that equals message 1.
struct Compare_and_swap : Atomic<CompareAndSwap> {
  static constexpr Spec spec = [] {
    Spec spec = atomic_word_spec("Compare_and_swap");
    spec.send = Messages::two;
    spec.one_sided.integers_only = spec.one_sided.compares = true;
    spec.notes = "#     Uses MPI_INT data type\n";
    return spec;
  }();
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank == 1 ? message_of(e, 0) : fetched_content(e);
  }
};

}  // namespace openimb
