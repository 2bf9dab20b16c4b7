// Neighborhood collectives, on a periodic grid of two dimensions or another topology (-topo). If a step gets
// a request, it starts the nonblocking operation (forms.h). Source: MPI 4.1, sections 8.5 to 8.7.
#pragma once

#include <cstddef>
#include <iterator>

#include "benchmarks/collective.h"
#include "mpi/topology.h"

namespace openimb {

/// The parts of a Spec that these benchmarks have. Several neighbors of a rank may be the same rank. `name`
/// is that of the call, too.
constexpr Spec on_topology(std::string_view name, Messages send,
                           Displacements displacements = Displacements::none) {
  return {.name = name,
          .send = send,
          .receive = Messages::per_neighbor,
          .topology = {.dimensions = default_grid_dimensions},
          .displacements = displacements,
          .in_default_list = false,
          .needs = name,
          .unavailable = call::why_no_neighborhoods};
}

/// A benchmark that owns the communicator with the topology.
struct OnTopology : PatternBase {
  template <class C>
  static TopologyCommunicator prepare(const C& c, const LapPlan&) {
    return TopologyCommunicator(c.comm, *c.me->neighborhood);
  }
};

/// The same, with the arguments of vector calls for each neighbor. All messages have the same length.
struct OnTopologyOfVectors : PatternBase {
  template <class C>
  static auto prepare(const C& c, const LapPlan&) {
    return NeighborArguments(c.comm, *c.me->neighborhood, c.count, c.span, c.type);
  }
};

struct Neighbor_allgather : OnTopology {
  static constexpr Spec spec = on_topology("Neighbor_allgather", Messages::one);
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, MPI_Comm comm, Request... request) {
    call::neighbor_allgather(lap.send, lap.receive, c.count, c.type, comm, request...);
  }
  static Expected expects(const GroupRank& e) {
    Expected all;
    for (const int source : e.neighborhood->sources) {
      all.push_back({source, 0, std::ssize(all) * e.elements, e.elements});
    }
    return all;
  }
};

struct Neighbor_allgatherv : OnTopologyOfVectors {
  static constexpr Spec spec = on_topology("Neighbor_allgatherv", Messages::one, Displacements::elements);
  template <class C, class View, class... Request>
  static void step(const C& c, const Lap& lap, View view, Request... request) {
    call::neighbor_allgatherv(lap.send, c.count, lap.receive, view.counts, view.at, c.type, view.comm,
                              request...);
  }
  static Expected expects(const GroupRank& e) { return Neighbor_allgather::expects(e); }
};

/// Delivers the block that each neighbor sends to this rank.
struct Neighbor_alltoall : OnTopology {
  static constexpr Spec spec = on_topology("Neighbor_alltoall", Messages::per_neighbor);
  template <class C, class... Request>
  static void step(const C& c, const Lap& lap, MPI_Comm comm, Request... request) {
    call::neighbor_alltoall(lap.send, lap.receive, c.count, c.type, comm, request...);
  }
  static Expected expects(const GroupRank& e) {
    Expected all = Neighbor_allgather::expects(e);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].send_at = e.neighborhood->blocks[i] * e.elements;
    return all;
  }
};

struct Neighbor_alltoallv : OnTopologyOfVectors {
  static constexpr Spec spec =
      on_topology("Neighbor_alltoallv", Messages::per_neighbor, Displacements::elements);
  template <class C, class View, class... Request>
  static void step(const C& c, const Lap& lap, View view, Request... request) {
    call::neighbor_alltoallv(lap.send, lap.receive, view.counts, view.at, c.type, view.comm, request...);
  }
  static Expected expects(const GroupRank& e) { return Neighbor_alltoall::expects(e); }
};

struct Neighbor_alltoallw : OnTopologyOfVectors {
  static constexpr Spec spec = on_topology("Neighbor_alltoallw", Messages::per_neighbor);
  template <class C, class View, class... Request>
  static void step(const C&, const Lap& lap, View view, Request... request) {
    call::neighbor_alltoallw(lap.send, lap.receive, view.counts, view.bytes, view.types, view.comm,
                             request...);
  }
  static Expected expects(const GroupRank& e) { return Neighbor_alltoall::expects(e); }
};

}  // namespace openimb
