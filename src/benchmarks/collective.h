// Collective benchmarks and the barrier. Source: guide, "Collective Benchmarks"; Reduce_local and
// Reduce_scatter_block: docs/methodology.md. Where a step takes a request, it starts the operation instead
// (nonblocking.h).
#pragma once

#include <algorithm>

#include "engine/pattern.h"
#include "plan/geometry.h"

namespace openimb {

struct Bcast {
  static constexpr Spec spec{.name = "Bcast", .send = Extent::none, .rooted = true, .shares_buffer = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::broadcast(lap.receive, c.count, c.type, lap.root, c.comm, request...);
  }
  static Expected expects(const Place& place) { return message_of(place, place.root); }
};

struct Allgather {
  static constexpr Spec spec{.name = "Allgather", .receive = Extent::per_rank};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::allgather(lap.send, lap.receive, c.count, c.type, c.comm, request...);
  }
  static Expected expects(const Place& place) { return message_of_each(place, 0); }
};

struct Allgatherv {
  static constexpr Spec spec{.name = "Allgatherv", .receive = Extent::per_rank, .by_displacement = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::allgatherv(lap.send, c.count, lap.receive, c.counts, c.displacements, c.type, c.comm, request...);
  }
  static Expected expects(const Place& place) { return message_of_each(place, 0); }
};

/// What a scatter delivers: this rank's message out of the root's buffer.
inline Expected part_of_root(const Place& p) { return {{p.root, p.rank * p.elements, 0, p.elements}}; }

struct Scatter {
  static constexpr Spec spec{.name = "Scatter", .send = Extent::per_rank, .rooted = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::scatter(lap.send, lap.receive, c.count, c.type, lap.root, c.comm, request...);
  }
  static Expected expects(const Place& place) { return part_of_root(place); }
};

struct Scatterv {
  static constexpr Spec spec{
      .name = "Scatterv", .send = Extent::per_rank, .rooted = true, .by_displacement = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::scatterv(lap.send, c.counts, c.displacements, lap.receive, c.count, c.type, lap.root, c.comm,
                   request...);
  }
  static Expected expects(const Place& place) { return part_of_root(place); }
};

/// What a gather delivers: everything at the root, nothing elsewhere.
inline Expected each_at_root(const Place& place) {
  return place.rank == place.root ? message_of_each(place, 0) : Expected{};
}

struct Gather {
  static constexpr Spec spec{.name = "Gather", .receive = Extent::per_rank, .rooted = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::gather(lap.send, lap.receive, c.count, c.type, lap.root, c.comm, request...);
  }
  static Expected expects(const Place& place) { return each_at_root(place); }
};

struct Gatherv {
  static constexpr Spec spec{
      .name = "Gatherv", .receive = Extent::per_rank, .rooted = true, .by_displacement = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::gatherv(lap.send, c.count, lap.receive, c.counts, c.displacements, c.type, lap.root, c.comm,
                  request...);
  }
  static Expected expects(const Place& place) { return each_at_root(place); }
};

struct Alltoall {
  static constexpr Spec spec{.name = "Alltoall", .send = Extent::per_rank, .receive = Extent::per_rank};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::alltoall(lap.send, lap.receive, c.count, c.type, c.comm, request...);
  }
  static Expected expects(const Place& place) { return message_of_each(place, place.rank * place.elements); }
};

struct Alltoallv {
  static constexpr Spec spec{
      .name = "Alltoallv", .send = Extent::per_rank, .receive = Extent::per_rank, .by_displacement = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::alltoallv(lap.send, lap.receive, c.counts, c.displacements, c.type, c.comm, request...);
  }
  static Expected expects(const Place& place) { return message_of_each(place, place.rank * place.elements); }
};

/// `count` elements of the sum over all ranks, from `at` on.
inline Expected sum(std::int64_t at, std::int64_t count) { return {{Piece::all_ranks, at, 0, count}}; }

struct Reduce {
  static constexpr Spec spec{.name = "Reduce", .reduction = true, .rooted = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::reduce(lap.send, lap.receive, c.count, c.type, c.op, lap.root, c.comm, request...);
  }
  static Expected expects(const Place& p) { return p.rank == p.root ? sum(0, p.elements) : Expected{}; }
};

struct Allreduce {
  static constexpr Spec spec{.name = "Allreduce", .reduction = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::allreduce(lap.send, lap.receive, c.count, c.type, c.op, c.comm, request...);
  }
  static Expected expects(const Place& place) { return sum(0, place.elements); }
};

struct Reduce_scatter {
  static constexpr Spec spec{.name = "Reduce_scatter", .receive = Extent::even_share, .reduction = true};
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, Request... request) {
    call::reduce_scatter(lap.send, lap.receive, c.shares, c.type, c.op, c.comm, request...);
  }
  static Expected expects(const Place& p) {
    const std::int64_t larger = std::min<std::int64_t>(p.rank, p.elements % p.ranks);
    return sum(p.rank * (p.elements / p.ranks) + larger, share(spec.receive, p.elements, p.ranks, p.rank));
  }
};

struct Reduce_scatter_block {
  static constexpr Spec spec{
      .name = "Reduce_scatter_block", .receive = Extent::block_share, .reduction = true};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    call::reduce_scatter_block(lap.send, lap.receive, c.share, c.type, c.op, c.comm);
  }
  static Expected expects(const Place& p) {
    const std::int64_t block = share(spec.receive, p.elements, p.ranks, p.rank);
    return sum(p.rank * block, block);
  }
};

struct Reduce_local {
  static constexpr Spec spec{.name = "Reduce_local", .reduction = true, .updates_receive = true};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    call::reduce_local(lap.send, lap.receive, c.count, c.type, c.op);
  }
  static Expected expects(const Place& p) { return {{p.rank, 0, 0, p.elements, true}}; }
};

struct Barrier {
  static constexpr Spec spec{
      .name = "Barrier", .kind = Kind::synchronisation, .send = Extent::none, .receive = Extent::none};
  template <class C, class... Request>
  static void step(const C& c, const Lap&, Request... request) {
    call::barrier(c.comm, request...);
  }
  static Expected expects(const Place&) { return {}; }
};

}  // namespace openimb
