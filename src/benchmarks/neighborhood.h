// Neighborhood collectives on a two-dimensional periodic grid or another topology (-topo). If a step gets a
// request, it starts the nonblocking operation (forms.h). Source: MPI 4.1, sections 8.5 to 8.7.
#pragma once

#include <cstddef>
#include <iterator>

#include "benchmarks/collective.h"
#include "mpi/topology.h"

namespace openimb {

/// The Spec of these benchmarks. Several neighbors of a rank may be the same rank. `name` is also the name of
/// the call.
constexpr Spec topology_spec(std::string_view name, Messages send,
                             Displacements displacements = Displacements::none) {
  return {.name = name,
          .send = send,
          .receive = Messages::per_neighbor,
          .topology = {.dimensions = default_grid_dimensions},
          .displacements = displacements,
          .in_default_list = false,
          .needs = name,
          .unavailable = call::no_neighborhoods_reason};
}

/// A benchmark that owns the communicator with the topology.
struct TopologyPattern : PatternBase {
  template <class C>
  static TopologyCommunicator prepare(const C& c, const IterationPlan&) {
    return TopologyCommunicator(c.comm, *c.me->neighborhood);
  }
};

/// A TopologyPattern that also owns the array arguments of vector calls. All messages have the same size.
struct TopologyVectorPattern : PatternBase {
  template <class C>
  static auto prepare(const C& c, const IterationPlan&) {
    return NeighborArguments(c.comm, *c.me->neighborhood, c.count, c.message_stride, c.type);
  }
};

struct Neighbor_allgather : TopologyPattern {
  static constexpr Spec spec = topology_spec("Neighbor_allgather", Messages::one);
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, MPI_Comm comm, Request... request) {
    call::neighbor_allgather(it.send, it.receive, c.count, c.type, comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) {
    ExpectedContents all;
    for (const int source : e.neighborhood->sources) {
      all.push_back({source, 0, std::ssize(all) * e.elements, e.elements});
    }
    return all;
  }
};

struct Neighbor_allgatherv : TopologyVectorPattern {
  static constexpr Spec spec = topology_spec("Neighbor_allgatherv", Messages::one, Displacements::elements);
  template <class C, class View, class... Request>
  static void step(const C& c, const Iteration& it, View view, Request... request) {
    call::neighbor_allgatherv(it.send, c.count, it.receive, view.counts, view.at, c.type, view.comm,
                              request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return Neighbor_allgather::expects(e); }
};

/// Each rank sends a different block to each neighbor.
struct Neighbor_alltoall : TopologyPattern {
  static constexpr Spec spec = topology_spec("Neighbor_alltoall", Messages::per_neighbor);
  template <class C, class... Request>
  static void step(const C& c, const Iteration& it, MPI_Comm comm, Request... request) {
    call::neighbor_alltoall(it.send, it.receive, c.count, c.type, comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) {
    ExpectedContents all = Neighbor_allgather::expects(e);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].send_at = e.neighborhood->blocks[i] * e.elements;
    return all;
  }
};

struct Neighbor_alltoallv : TopologyVectorPattern {
  static constexpr Spec spec =
      topology_spec("Neighbor_alltoallv", Messages::per_neighbor, Displacements::elements);
  template <class C, class View, class... Request>
  static void step(const C& c, const Iteration& it, View view, Request... request) {
    call::neighbor_alltoallv(it.send, it.receive, view.counts, view.at, c.type, view.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return Neighbor_alltoall::expects(e); }
};

struct Neighbor_alltoallw : TopologyVectorPattern {
  static constexpr Spec spec = topology_spec("Neighbor_alltoallw", Messages::per_neighbor);
  template <class C, class View, class... Request>
  static void step(const C&, const Iteration& it, View view, Request... request) {
    call::neighbor_alltoallw(it.send, it.receive, view.counts, view.bytes, view.types, view.comm, request...);
  }
  static ExpectedContents expects(const GroupRank& e) { return Neighbor_alltoall::expects(e); }
};

}  // namespace openimb
