// Computes the neighbors of each rank in neighborhood collectives without calling MPI. Sources: MPI 4.1,
// sections 8.5 (Cartesian and distributed graph topologies) and 8.6 (order of neighbors and of blocks).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/names.h"
#include "model/random.h"
#include "model/torus.h"

namespace openimb {

/// cartesian: a periodic grid. graph: the same neighbors in a distributed graph. random: a random regular
/// graph.
enum class TopologyKind { cartesian, graph, random };
template <>
inline constexpr Names<3> names_of<TopologyKind> = {"cartesian", "graph", "random"};

inline constexpr int default_grid_dimensions = 2;

/// A topology for groups of any size. If dimensions and degree are 0, the benchmark has no topology.
struct Topology {
  TopologyKind kind = TopologyKind::cartesian;
  int dimensions = 0;  ///< number of dimensions of the grid
  /// Extents of the grid, used if their product is the number of processes. Otherwise, and if they are 0, the
  /// extents are as equal as possible.
  std::array<int, max_dimensions> extents{};
  int degree = 0;                     ///< random: number of destinations and of sources of each process
  std::uint64_t seed = default_seed;  ///< random: seed of the graph

  constexpr bool exists() const { return dimensions > 0 || degree > 0; }
  constexpr bool has_extents() const { return extents.front() > 0; }
  /// The number of processes in a grid with the extents given.
  constexpr std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= extents[static_cast<std::size_t>(i)];
    return product;
  }
  /// Returns the number of destinations of each of `ranks` processes. In a random graph the destinations of a
  /// process are distinct and, with two or more processes, never the process itself.
  constexpr int neighbors(int ranks) const {
    return kind == TopologyKind::random ? std::min(degree, std::max(1, ranks - 1)) : 2 * dimensions;
  }
  /// The periodic grid of `ranks` ranks. Extents that are not given are in descending order, as from
  /// MPI_Dims_create.
  Torus grid(int ranks) const;
  /// "4 x 2", "graph 4 x 2", "random graph, degree 3, seed 1".
  std::string name(int ranks) const;
};

/// The neighbors of one rank, as ranks, in MPI's order.
struct Neighborhood {
  std::vector<int> extents;       ///< extents of the Cartesian topology; empty for a graph
  std::vector<int> sources;       ///< ranks from which this rank receives
  std::vector<int> destinations;  ///< ranks to which this rank sends
  std::vector<int> blocks;        ///< for each source, the number of the block that it sends to this rank
};
Neighborhood neighborhood_of(const Topology& topology, int ranks, int rank);

}  // namespace openimb
