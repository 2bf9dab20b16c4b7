#include "model/topology.h"

#include <cstddef>

#include "model/random.h"

namespace openimb {

namespace {

// A random regular directed graph without loops and double edges. `destinations_` lists the destinations of
// rank 0, then those of rank 1, and so on. Random pairs of edges swap their destinations, which preserves all
// degrees. Source: Greenhill 2011, "A polynomial bound on the mixing time of a Markov chain for sampling
// regular directed graphs".
class RandomGraph {
 public:
  RandomGraph(int ranks, int degree, std::uint64_t seed) : degree_(degree) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < degree; ++i) destinations_.push_back((rank + 1 + i) % ranks);
    }
    if (degree >= ranks - 1) return;  // every rank has all others as neighbors
    constexpr int swaps_per_edge = 16;
    SplitMix random = random_round(seed, 0);
    for (std::int64_t i = 0; i < swaps_per_edge * edges(); ++i) {
      const std::int64_t edge = random.below(edges());
      swap(edge, random.below(edges()));
    }
  }
  std::int64_t edges() const { return std::ssize(destinations_); }
  int from(std::int64_t edge) const { return static_cast<int>(edge / degree_); }
  int to(std::int64_t edge) const { return destinations_[static_cast<std::size_t>(edge)]; }
  int position(std::int64_t edge) const { return static_cast<int>(edge % degree_); }

 private:
  bool has(int from, int to) const {
    const auto first = destinations_.begin() + static_cast<std::ptrdiff_t>(from) * degree_;
    return std::find(first, first + degree_, to) != first + degree_;
  }
  void swap(std::int64_t edge, std::int64_t other) {
    const int a = from(edge), b = from(other);
    if (a == to(other) || b == to(edge) || has(a, to(other)) || has(b, to(edge))) return;
    std::swap(destinations_[static_cast<std::size_t>(edge)], destinations_[static_cast<std::size_t>(other)]);
  }

  int degree_;
  std::vector<int> destinations_;
};

Neighborhood random_neighborhood(const Topology& topology, int ranks, int rank) {
  const RandomGraph graph(ranks, topology.neighbors(ranks), topology.seed);
  Neighborhood neighborhood;
  for (std::int64_t edge = 0; edge < graph.edges(); ++edge) {
    if (graph.from(edge) == rank) neighborhood.destinations.push_back(graph.to(edge));
    if (graph.to(edge) != rank) continue;
    neighborhood.sources.push_back(graph.from(edge));
    neighborhood.blocks.push_back(graph.position(edge));
  }
  return neighborhood;
}

// The number of the block that the `i`-th source sends to this rank. `destinations`: destinations of that
// source. If a rank is a neighbor more than once, its blocks arrive in the order of the edges.
int block_by_edge(const std::vector<int>& sources, std::size_t i, const std::vector<int>& destinations,
                  int rank) {
  auto before = std::count(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources[i]);
  auto block = std::ranges::find(destinations, rank);
  for (; before > 0; --before) block = std::find(block + 1, destinations.end(), rank);
  return static_cast<int>(block - destinations.begin());
}

}  // namespace

Torus Topology::grid(int ranks) const {
  if (has_extents() && size() == ranks) {
    return Torus(std::vector<int>(extents.begin(), extents.begin() + dimensions));
  }
  std::vector<int> equal = Torus(ranks, dimensions).extents();
  std::ranges::reverse(equal);
  return Torus(std::move(equal));
}

std::string Topology::name(int ranks) const {
  if (kind == TopologyKind::random) {
    return "random graph, degree " + std::to_string(neighbors(ranks)) + ", seed " + std::to_string(seed);
  }
  return (kind == TopologyKind::graph ? "graph " : "") + grid(ranks).name();
}

Neighborhood neighborhood_of(const Topology& topology, int ranks, int rank) {
  if (topology.kind == TopologyKind::random) return random_neighborhood(topology, ranks, rank);
  const Torus grid = topology.grid(ranks);
  const std::vector<int> neighbors = grid.neighbors_in_pairs(rank);
  Neighborhood neighborhood{.extents = {}, .sources = neighbors, .destinations = neighbors, .blocks = {}};
  const bool cartesian = topology.kind == TopologyKind::cartesian;
  if (cartesian) neighborhood.extents = grid.extents();
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    // In a Cartesian topology a block sent in one direction arrives from the opposite direction.
    neighborhood.blocks.push_back(
        cartesian ? static_cast<int>(i ^ 1)
                  : block_by_edge(neighbors, i, grid.neighbors_in_pairs(neighbors[i]), rank));
  }
  return neighborhood;
}

}  // namespace openimb
