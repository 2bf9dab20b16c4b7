// Neighborhood collectives on a periodic grid of two dimensions. Source: MPI 3.1, sections 7.5.1 and 7.6.
#pragma once

#include "engine/pattern.h"
#include "mpi/grid.h"

namespace openimb {

/// The parts of a Spec that both have. Each rank has four neighbors, which may be the same rank.
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

struct Neighbor_allgather : OnGrid {
  static constexpr Spec spec = on_grid("Neighbor_allgather", Extent::one);
  template <class C>
  static void step(const C& c, const Lap& lap, MPI_Comm grid) {
    call::neighbor_allgather(lap.send, lap.receive, c.count, c.type, grid);
  }
  static Expected expects(const Endpoint& e) {
    Expected all;
    const auto neighbors = Grid::of(e.ranks).neighbors(e.rank);
    for (int i = 0; i < grid_neighbors; ++i) all.push_back({neighbors[i], 0, i * e.elements, e.elements});
    return all;
  }
};

/// What a neighbor sends in the direction of this rank.
struct Neighbor_alltoall : OnGrid {
  static constexpr Spec spec = on_grid("Neighbor_alltoall", Extent::per_neighbor);
  template <class C>
  static void step(const C& c, const Lap& lap, MPI_Comm grid) {
    call::neighbor_alltoall(lap.send, lap.receive, c.count, c.type, grid);
  }
  static Expected expects(const Endpoint& e) {
    Expected all = Neighbor_allgather::expects(e);
    for (int i = 0; i < grid_neighbors; ++i) all[i].send_at = Grid::opposite(i) * e.elements;
    return all;
  }
};

}  // namespace openimb
