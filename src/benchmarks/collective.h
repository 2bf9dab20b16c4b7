// Collective benchmarks and the barrier. If a step gets a request, it starts the nonblocking operation
// (forms.h). Source: guide, "Collective Benchmarks"; docs/methodology.md for Reduce_local and
// Reduce_scatter_block.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/pattern.h"
#include "plan/geometry.h"

namespace openimb {

struct Bcast : PatternBase {
  static constexpr Spec spec{.name = "Bcast", .send = Messages::none, .rooted = true, .shares_buffer = true};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::bcast(it.receive, c.count, c.type, it.root, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, e.root); }
};

/// The contents of the receive buffer after an allgather. With MPI_IN_PLACE, the input of a rank lies where
/// the result will be.
inline ExpectedContents gathered(const GroupRank& e) {
  ExpectedContents all = message_of_each(e, 0);
  for (Piece& piece : all) {
    if (e.in_place) piece.send_at = piece.receive_at;
  }
  return all;
}

struct Allgather : PatternBase {
  static constexpr Spec spec{
      .name = "Allgather", .receive = Messages::per_rank, .in_place = InPlace::everywhere};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::allgather(it.send, it.receive, c.count, c.type, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return gathered(e); }
};

struct Allgatherv : PatternBase {
  static constexpr Spec spec{.name = "Allgatherv",
                             .receive = Messages::per_rank,
                             .displacements = Displacements::elements,
                             .in_place = InPlace::everywhere};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::allgatherv(it.send, c.count, it.receive, c.counts, c.displacements, c.type, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return gathered(e); }
};

/// The contents of the receive buffer after a scatter: this rank's part of the root's send buffer.
inline ExpectedContents part_of_root(const GroupRank& e) {
  return {{e.root, e.rank * e.elements, 0, e.elements}};
}

struct Scatter : PatternBase {
  static constexpr Spec spec{
      .name = "Scatter", .send = Messages::per_rank, .rooted = true, .in_place = InPlace::root_receives};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::scatter(it.send, it.receive, c.count, c.type, it.root, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return part_of_root(e); }
};

struct Scatterv : PatternBase {
  static constexpr Spec spec{.name = "Scatterv",
                             .send = Messages::per_rank,
                             .rooted = true,
                             .displacements = Displacements::elements,
                             .in_place = InPlace::root_receives};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::scatterv(it.send, c.counts, c.displacements, it.receive, c.count, c.type, it.root, c.comm,
                   request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return part_of_root(e); }
};

/// The contents of the receive buffer after a gather: all messages at the root, nothing on other ranks.
inline ExpectedContents gathered_at_root(const GroupRank& e) {
  return e.rank == e.root ? message_of_each(e, 0) : ExpectedContents{};
}

struct Gather : PatternBase {
  static constexpr Spec spec{
      .name = "Gather", .receive = Messages::per_rank, .rooted = true, .in_place = InPlace::root_sends};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::gather(it.send, it.receive, c.count, c.type, it.root, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return gathered_at_root(e); }
};

struct Gatherv : PatternBase {
  static constexpr Spec spec{.name = "Gatherv",
                             .receive = Messages::per_rank,
                             .rooted = true,
                             .displacements = Displacements::elements,
                             .in_place = InPlace::root_sends};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::gatherv(it.send, c.count, it.receive, c.counts, c.displacements, c.type, it.root, c.comm,
                  request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return gathered_at_root(e); }
};

struct Alltoall : PatternBase {
  static constexpr Spec spec{.name = "Alltoall",
                             .send = Messages::per_rank,
                             .receive = Messages::per_rank,
                             .in_place = InPlace::everywhere};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::alltoall(it.send, it.receive, c.count, c.type, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of_each(e, e.rank * e.elements); }
};

struct Alltoallv : PatternBase {
  static constexpr Spec spec{.name = "Alltoallv",
                             .send = Messages::per_rank,
                             .receive = Messages::per_rank,
                             .displacements = Displacements::elements,
                             .in_place = InPlace::everywhere};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::alltoallv(it.send, it.receive, c.counts, c.displacements, c.type, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of_each(e, e.rank * e.elements); }
};

struct Reduce : PatternBase {
  static constexpr Spec spec{
      .name = "Reduce", .reduction = true, .rooted = true, .in_place = InPlace::root_sends};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::reduce(it.send, it.receive, c.count, c.type, c.op, it.root, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank == e.root ? sum_of_first(e.ranks, 0, e.elements) : ExpectedContents{};
  }
};

struct Allreduce : PatternBase {
  static constexpr Spec spec{.name = "Allreduce", .reduction = true, .in_place = InPlace::everywhere};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::allreduce(it.send, it.receive, c.count, c.type, c.op, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return sum_of_first(e.ranks, 0, e.elements); }
};

struct Reduce_scatter : PatternBase {
  static constexpr Spec spec{.name = "Reduce_scatter", .receive = Messages::even_share, .reduction = true};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::reduce_scatter(it.send, it.receive, c.shares, c.type, c.op, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) {
    const std::int64_t larger = std::min<std::int64_t>(e.rank, e.elements % e.ranks);
    const std::int64_t at = e.rank * (e.elements / e.ranks) + larger;
    return sum_of_first(e.ranks, at, share(spec.receive, e.elements, e.ranks, e.rank));
  }
};

struct Reduce_scatter_block : PatternBase {
  static constexpr Spec spec{
      .name = "Reduce_scatter_block", .receive = Messages::block_share, .reduction = true};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::reduce_scatter_block(it.send, it.receive, c.share, c.type, c.op, c.comm);
  }
  static ExpectedContents expects(const GroupRank& e) {
    const std::int64_t block = share(spec.receive, e.elements, e.ranks, e.rank);
    return sum_of_first(e.ranks, e.rank * block, block);
  }
};

struct Reduce_local : PatternBase {
  static constexpr Spec spec{.name = "Reduce_local", .reduction = true, .updates_receive = true};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::reduce_local(it.send, it.receive, c.count, c.type, c.op);
  }
  static ExpectedContents expects(const GroupRank& e) { return {{e.rank, 0, 0, e.elements, true}}; }
};

/// Rank r's result is the sum over ranks 0 to r.
struct Scan : PatternBase {
  static constexpr Spec spec{
      .name = "Scan", .reduction = true, .in_place = InPlace::everywhere, .in_default_list = false};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::scan(it.send, it.receive, c.count, c.type, c.op, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return sum_of_first(e.rank + 1, 0, e.elements); }
};

/// Rank r's result is the sum over ranks 0 to r - 1. Rank 0 has no result.
struct Exscan : PatternBase {
  static constexpr Spec spec{
      .name = "Exscan", .reduction = true, .in_place = InPlace::everywhere, .in_default_list = false};
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, Request... request) {
    call::exscan(it.send, it.receive, c.count, c.type, c.op, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return e.rank > 0 ? sum_of_first(e.rank, 0, e.elements) : ExpectedContents{};
  }
};

/// The array arguments of MPI_Alltoallw: for each rank, the type of its message and its displacement in
/// bytes.
template <class Count>
struct TypesPerRank {
  std::vector<MPI_Datatype> types;
  std::vector<call::Displacement<Count>> at;

  struct View {
    const MPI_Datatype* types;
    const call::Displacement<Count>* at;
  };
  View view() const { return {types.data(), at.data()}; }
};

/// Alltoallv with one data type per rank. All types are equal.
struct Alltoallw : PatternBase {
  static constexpr Spec spec{.name = "Alltoallw",
                             .send = Messages::per_rank,
                             .receive = Messages::per_rank,
                             .displacements = Displacements::bytes,
                             .in_place = InPlace::everywhere,
                             .in_default_list = false};
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    TypesPerRank<decltype(c.count)> arguments{std::vector(static_cast<std::size_t>(c.ranks), c.type), {}};
    using At = call::Displacement<decltype(c.count)>;
    for (int rank = 0; rank < c.ranks; ++rank)
      arguments.at.push_back(static_cast<At>(rank * c.message_stride));
    return arguments;
  }
  template <class C, class PerRank, class... Request>
  static void step(const C& c, const Iteration& it, PerRank arguments, Request... request) {
    call::alltoallw(it.send, it.receive, c.counts, arguments.at, arguments.types, c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of_each(e, e.rank * e.elements); }
};

struct Barrier : PatternBase {
  static constexpr Spec spec{
      .name = "Barrier", .kind = Kind::synchronization, .send = Messages::none, .receive = Messages::none};
  template <class C, class... Request>
  static void step(const C& c, const Iteration&, Request... request) {
    call::barrier(c.comm, request...);
  }
  static ExpectedContents expects(const GroupRank&) { return {}; }
};

}  // namespace openimb
