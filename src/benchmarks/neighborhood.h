// Neighborhood collectives on a periodic grid of two dimensions. Where a step takes a request, it starts the
// operation instead (nonblocking.h). Source: MPI 3.1, sections 7.5.1, 7.6 and 7.7.
#pragma once

#include "benchmarks/collective.h"
#include "mpi/grid.h"

namespace openimb {

/// The parts of a Spec that all have. Each rank has four neighbors, which may be the same rank. `name` is the
/// call's.
constexpr Spec on_grid(std::string_view name, Extent send) {
  return {.name = name,
          .send = send,
          .receive = Extent::per_neighbor,
          .in_default_list = false,
          .needs = name,
          .unavailable = call::why_no_neighborhoods};
}

/// The benchmark owns the communicator that has the grid.
struct OnGrid {
  template <class C>
  static GridCommunicator prepare(const C& c, const LapPlan&) {
    return GridCommunicator(c.comm);
  }
};

/// And the arguments that vector calls have for each neighbor, all of one length.
struct OnGridOfVectors {
  template <class C>
  static auto prepare(const C& c, const LapPlan&) {
    return GridWithArguments(c.comm, c.count, c.span, c.type);
  }
};

struct Neighbor_allgather : OnGrid {
  static constexpr Spec spec = on_grid("Neighbor_allgather", Extent::one);
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, MPI_Comm grid, Request... request) {
    call::neighbor_allgather(lap.send, lap.receive, c.count, c.type, grid, request...);
  }
  static Expected expects(const Endpoint& e) {
    Expected all;
    const auto neighbors = Grid::of(e.ranks).neighbors(e.rank);
    for (int i = 0; i < grid_neighbors; ++i) all.push_back({neighbors[i], 0, i * e.elements, e.elements});
    return all;
  }
};

struct Neighbor_allgatherv : OnGridOfVectors {
  static constexpr Spec spec = on_grid("Neighbor_allgatherv", Extent::one);
  template <class C, class View, class... Request>
  static void step(const C& c, const Lap& lap, View grid, Request... request) {
    call::neighbor_allgatherv(lap.send, c.count, lap.receive, grid.counts, grid.at, c.type, grid.comm,
                              request...);
  }
  static Expected expects(const Endpoint& e) { return Neighbor_allgather::expects(e); }
};

/// What a neighbor sends in the direction of this rank.
struct Neighbor_alltoall : OnGrid {
  static constexpr Spec spec = on_grid("Neighbor_alltoall", Extent::per_neighbor);
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, MPI_Comm grid, Request... request) {
    call::neighbor_alltoall(lap.send, lap.receive, c.count, c.type, grid, request...);
  }
  static Expected expects(const Endpoint& e) {
    Expected all = Neighbor_allgather::expects(e);
    for (int i = 0; i < grid_neighbors; ++i) all[i].send_at = Grid::opposite(i) * e.elements;
    return all;
  }
};

struct Neighbor_alltoallv : OnGridOfVectors {
  static constexpr Spec spec = on_grid("Neighbor_alltoallv", Extent::per_neighbor);
  template <class C, class View, class... Request>
  static void step(const C& c, const Lap& lap, View grid, Request... request) {
    call::neighbor_alltoallv(lap.send, lap.receive, grid.counts, grid.at, c.type, grid.comm, request...);
  }
  static Expected expects(const Endpoint& e) { return Neighbor_alltoall::expects(e); }
};

struct Neighbor_alltoallw : OnGridOfVectors {
  static constexpr Spec spec = on_grid("Neighbor_alltoallw", Extent::per_neighbor);
  template <class C, class View, class... Request>
  static void step(const C&, const Lap& lap, View grid, Request... request) {
    call::neighbor_alltoallw(lap.send, lap.receive, grid.counts, grid.bytes, grid.types, grid.comm,
                             request...);
  }
  static Expected expects(const Endpoint& e) { return Neighbor_alltoall::expects(e); }
};

}  // namespace openimb
