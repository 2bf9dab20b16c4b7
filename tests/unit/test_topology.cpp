// Topologies of neighborhood collectives: who is whose neighbor, and which block arrives where.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "model/topology.h"
#include "plan/geometry.h"
#include "plan/schedule.h"

using namespace openimb;

using Ranks = std::vector<int>;

namespace {

Topology grid_of(TopologyKind kind, const Ranks& extents) {
  Topology topology{.kind = kind, .dimensions = static_cast<int>(extents.size())};
  std::ranges::copy(extents, topology.extents.begin());
  return topology;
}

const Topology standard{.dimensions = 2};

// Returns the topologies that the tests try with every number of ranks.
std::vector<Topology> topologies() {
  std::vector<Topology> all;
  for (const TopologyKind kind : {TopologyKind::cartesian, TopologyKind::graph}) {
    for (int dimensions = 1; dimensions <= max_dimensions; ++dimensions) {
      all.push_back({.kind = kind, .dimensions = dimensions});
    }
    all.push_back(grid_of(kind, {4, 2}));
    all.push_back(grid_of(kind, {1, 2, 6}));
  }
  for (const int degree : {1, 2, 3, 7}) {
    for (const std::uint64_t seed : {0, 1, 99}) {
      all.push_back({.kind = TopologyKind::random, .degree = degree, .seed = seed});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a grid has all ranks and is as square as their number allows") {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const Ranks extents = standard.grid(ranks).extents();
    REQUIRE(extents.size() == 2);
    CHECK(extents[0] * extents[1] == ranks);
    CHECK(extents[1] <= extents[0]);
    for (int columns = extents[1] + 1; columns * columns <= ranks; ++columns) CHECK(ranks % columns != 0);
  }
  CHECK(standard.grid(12).extents() == Ranks{4, 3});
  CHECK(Topology{.dimensions = 3}.grid(24).extents() == Ranks{4, 3, 2});
  CHECK(Topology{.dimensions = 1}.grid(7).extents() == Ranks{7});
}

TEST_CASE(
    "extents apply to groups with their product of ranks; other groups have the same number of dimensions") {
  const Topology given = grid_of(TopologyKind::cartesian, {2, 6});
  CHECK(given.size() == 12);
  CHECK(given.grid(12).extents() == Ranks{2, 6});
  CHECK(given.grid(4).extents() == Ranks{2, 2});
  CHECK(given.name(12) == "2 x 6");
  CHECK(given.name(6) == "3 x 2");
  CHECK(grid_of(TopologyKind::graph, {2, 6}).name(12) == "graph 2 x 6");
}

TEST_CASE("neighbors come in MPI's order: dimension by dimension, the one before and the one behind") {
  CHECK(neighborhood_of(standard, 12, 4).sources == Ranks{1, 7, 3, 5});  // 4 rows of 3
  CHECK(neighborhood_of(standard, 12, 0).sources == Ranks{9, 3, 2, 1});
  CHECK(neighborhood_of(standard, 12, 11).destinations == Ranks{8, 2, 10, 9});
  CHECK(neighborhood_of(standard, 1, 0).sources == Ranks{0, 0, 0, 0});
  CHECK(neighborhood_of({.dimensions = 3}, 24, 0).sources == Ranks{18, 6, 4, 2, 1, 1});
  for (const int ranks : {2, 3, 5, 61}) {  // a prime number is a ring
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(neighborhood_of(standard, ranks, rank).sources ==
            Ranks{(rank + ranks - 1) % ranks, (rank + 1) % ranks, rank, rank});
    }
  }
}

TEST_CASE("on a Cartesian topology blocks arrive from the opposite direction, on a graph in their order") {
  CHECK(neighborhood_of(standard, 4, 0).sources == Ranks{2, 2, 1, 1});
  CHECK(neighborhood_of(standard, 4, 0).blocks == Ranks{1, 0, 3, 2});
  CHECK(neighborhood_of(standard, 4, 0).extents == Ranks{2, 2});
  const Topology graph{.kind = TopologyKind::graph, .dimensions = 2};
  CHECK(neighborhood_of(graph, 4, 0).blocks == Ranks{0, 1, 2, 3});
  CHECK(neighborhood_of(graph, 1, 0).blocks == Ranks{0, 1, 2, 3});
  CHECK(neighborhood_of(graph, 9, 0).blocks == Ranks{1, 0, 3, 2});
  CHECK(neighborhood_of(graph, 9, 0).extents.empty());
}

TEST_CASE("each block is received once, by the rank to which it was sent") {
  for (const Topology& topology : topologies()) {
    for (int ranks = 1; ranks <= 13; ++ranks) {
      const auto count = static_cast<std::size_t>(topology.neighbors(ranks));
      std::vector<Neighborhood> all;
      for (int rank = 0; rank < ranks; ++rank) all.push_back(neighborhood_of(topology, ranks, rank));
      std::set<std::pair<int, int>> received;
      for (int rank = 0; rank < ranks; ++rank) {
        const Neighborhood& mine = all[static_cast<std::size_t>(rank)];
        REQUIRE(mine.sources.size() == count);
        REQUIRE(mine.destinations.size() == count);
        REQUIRE(mine.blocks.size() == count);
        for (std::size_t i = 0; i < count; ++i) {
          const auto& source = all[static_cast<std::size_t>(mine.sources[i])];
          REQUIRE(source.destinations.at(static_cast<std::size_t>(mine.blocks[i])) == rank);
          received.emplace(mine.sources[i], mine.blocks[i]);
        }
      }
      REQUIRE(received.size() == count * static_cast<std::size_t>(ranks));
    }
  }
}

TEST_CASE("neighbors in a random graph are other ranks, each once, as far as there are enough") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (const int degree : {1, 3, 6, 39}) {
      const Topology random{.kind = TopologyKind::random, .degree = degree};
      CHECK(random.neighbors(ranks) == std::min(degree, std::max(1, ranks - 1)));
      for (int rank = 0; rank < ranks; ++rank) {
        const Neighborhood mine = neighborhood_of(random, ranks, rank);
        for (const Ranks& side : {mine.sources, mine.destinations}) {
          CHECK(std::set<int>(side.begin(), side.end()).size() == side.size());
          if (ranks > 1) CHECK(std::ranges::count(side, rank) == 0);
        }
      }
    }
  }
  CHECK(Topology{.kind = TopologyKind::random, .degree = 4, .seed = 7}.name(3) ==
        "random graph, degree 2, seed 7");
}

TEST_CASE("the seed decides the random graph") {
  const auto edges = [](std::uint64_t seed) {
    std::vector<Ranks> all;
    for (int rank = 0; rank < 16; ++rank) {
      all.push_back(
          neighborhood_of({.kind = TopologyKind::random, .degree = 3, .seed = seed}, 16, rank).destinations);
    }
    return all;
  };
  CHECK(edges(5) == edges(5));
  CHECK(edges(5) != edges(6));
  // The result is the same with every compiler.
  CHECK(edges(1).front() == Ranks{3, 6, 4});
}

TEST_CASE("all edges of a random graph are about equally likely") {
  constexpr int ranks = 8, degree = 3, draws = 2000;
  std::vector<int> drawn(ranks, 0);
  for (int seed = 0; seed < draws; ++seed) {
    const Topology random{
        .kind = TopologyKind::random, .degree = degree, .seed = static_cast<std::uint64_t>(seed)};
    for (const int to : neighborhood_of(random, ranks, 0).destinations) ++drawn[static_cast<std::size_t>(to)];
  }
  constexpr double mean = double{draws} * degree / (ranks - 1);  // standard deviation: 22
  for (int to = 1; to < ranks; ++to) CHECK(std::abs(drawn[static_cast<std::size_t>(to)] - mean) < 5 * 22);
}

TEST_CASE("buffers have a message for each neighbor, and an int must hold the last displacement") {
  Spec spec{.name = "Neighbor_alltoallv",
            .send = Messages::per_neighbor,
            .receive = Messages::per_neighbor,
            .topology = {.dimensions = 3},
            .displacements = Displacements::elements};
  const auto planned = [&](std::int64_t bytes) {
    return plan_geometry(spec, bytes, 16, {DataType::byte, Contiguity::base}, {}, 1);
  };
  CHECK(planned(100).send.footprint == 600);
  spec.topology = {.kind = TopologyKind::random, .degree = 5};
  CHECK(planned(100).receive.footprint == 500);
  CHECK_FALSE(planned(1 << 28).exceeds_int);
  CHECK(planned(1 << 29).exceeds_int);
  spec.displacements = Displacements::none;
  CHECK_FALSE(planned(1 << 29).exceeds_int);
}

TEST_CASE("-topo changes benchmarks with a topology, and is in their titles") {
  const Spec catalog[] = {
      {.name = "Neighbor_allgather", .receive = Messages::per_neighbor, .topology = {.dimensions = 2}},
      {.name = "Bcast"}};
  Options options;
  options.selection = {{.index = 0}, {.index = 1}};
  const auto plan = [&](int index) {
    const Schedule schedule(catalog, options, 8, {}, true);
    return schedule.plan({.benchmark = index, .multi = Multi::off, .processes = 8}).table;
  };
  CHECK_FALSE(plan(0).names_topology);
  CHECK(plan(0).spec.topology.name(8) == "4 x 2");
  options.topology = Topology{.kind = TopologyKind::random, .degree = 3};
  CHECK(plan(0).names_topology);
  CHECK(plan(0).spec.topology.degree == 3);
  CHECK_FALSE(plan(1).names_topology);
}
