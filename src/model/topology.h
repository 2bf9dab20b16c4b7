// The neighbors of each rank in neighborhood collectives, without MPI. Sources: MPI 4.1, sections 8.5
// (Cartesian and distributed graph topologies) and 8.6 (order of neighbors; what arrives where).
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

/// cartesian: a periodic grid. graph: the same neighbors, stated as edges. random: a regular graph drawn at
/// random.
enum class TopologyKind { cartesian, graph, random };
template <>
inline constexpr Names<3> names_of<TopologyKind> = {"cartesian", "graph", "random"};

inline constexpr int default_grid_dimensions = 2;

/// A topology for groups of any size. Without dimensions and degree there is none.
struct Topology {
  TopologyKind kind = TopologyKind::cartesian;
  int dimensions = 0;  ///< of the grid
  /// In force where the group has as many processes as their product; 0: as equal as possible.
  std::array<int, most_dimensions> extents{};
  int degree = 0;                     ///< random: destinations of each process, and sources
  std::uint64_t seed = default_seed;  ///< random

  constexpr bool exists() const { return dimensions > 0 || degree > 0; }
  constexpr bool has_extents() const { return extents.front() > 0; }
  /// Processes of a grid with the extents given.
  constexpr std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < dimensions; ++i) product *= extents[static_cast<std::size_t>(i)];
    return product;
  }
  /// Number of destinations of each of `ranks` processes. In a random graph they differ from each other and,
  /// with two processes or more, from the process itself.
  constexpr int neighbors(int ranks) const {
    return kind == TopologyKind::random ? std::min(degree, std::max(1, ranks - 1)) : 2 * dimensions;
  }
  /// The periodic grid of so many ranks. Extents that are not given are in descending order, like the extents
  /// of MPI_Dims_create.
  Torus grid(int ranks) const;
  /// "4 x 2", "graph 4 x 2", "random graph, degree 3, seed 1".
  std::string name(int ranks) const;
};

/// The neighbors of one rank, as ranks, in MPI's order.
struct Neighborhood {
  std::vector<int> extents;       ///< of the Cartesian topology; empty: a graph
  std::vector<int> sources;       ///< ranks that it receives from
  std::vector<int> destinations;  ///< ranks that it sends to
  std::vector<int> blocks;        ///< by source: which of its blocks it sends to this rank
};
Neighborhood neighborhood_of(const Topology& topology, int ranks, int rank);

}  // namespace openimb
