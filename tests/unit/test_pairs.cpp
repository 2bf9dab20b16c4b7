// Random partners and periodic grids.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>
#include <set>

#include "model/random.h"
#include "model/torus.h"
#include "plan/groups.h"

using namespace openimb;
using Ranks = std::vector<int>;

TEST_CASE("random orders are permutations that depend on the seed and the round") {
  std::set<Ranks> orders;
  for (int round = 0; round < 100; ++round) {
    Ranks order = random_order(7, round, 8);
    CHECK(order == random_order(7, round, 8));
    CHECK(order != random_order(8, round, 8));
    orders.insert(order);
    std::ranges::sort(order);
    Ranks all(8);
    std::iota(all.begin(), all.end(), 0);
    CHECK(order == all);
  }
  CHECK(orders.size() > 95);  // of 40320
}

TEST_CASE("random orders are the same with every compiler") {
  CHECK(SplitMix(1234567).next() == 6457827717110365317U);  // of the reference implementation
}

TEST_CASE("every rank is at every position equally often") {
  constexpr int rounds = 8000, ranks = 4;
  int seen[ranks][ranks] = {};
  for (int round = 0; round < rounds; ++round) {
    const Ranks order = random_order(1, round, ranks);
    for (int i = 0; i < ranks; ++i) ++seen[i][order[i]];
  }
  for (const auto& place : seen) {
    for (const int count : place) CHECK(std::abs(count - rounds / ranks) < 200);  // 5 sigma
  }
}

TEST_CASE("a random cycle goes through all ranks") {
  for (const int ranks : {2, 3, 5, 8, 64}) {
    for (int round = 0; round < 20; ++round) {
      const Ranks next = random_cycle(3, round, ranks);
      int at = 0, steps = 0;
      do {
        CHECK(next[at] != at);
        at = next[at];
        ++steps;
      } while (at != 0);
      CHECK(steps == ranks);
    }
  }
}

TEST_CASE("extents are as equal as the number of ranks allows") {
  CHECK(Torus(8, 2).extents() == Ranks{2, 4});
  CHECK(Torus(8, 3).extents() == Ranks{2, 2, 2});
  CHECK(Torus(16, 2).extents() == Ranks{4, 4});
  CHECK(Torus(24, 3).extents() == Ranks{2, 3, 4});
  CHECK(Torus(36, 3).extents() == Ranks{3, 3, 4});
  CHECK(Torus(7, 2).extents() == Ranks{1, 7});
  CHECK(Torus(1, 3).extents() == Ranks{1, 1, 1});
  CHECK(Torus(96, 5).extents() == Ranks{2, 2, 2, 3, 4});
  CHECK(Torus(8, 3).name() == "2 x 2 x 2");
  CHECK(Torus(8, 3).is_proper());
  CHECK_FALSE(Torus(4, 3).is_proper());
}

TEST_CASE("neighbors across faces, and across edges and corners") {
  // 0 1 2
  // 3 4 5
  const Torus torus(6, 2);
  CHECK(torus.neighbors(0, false) == Ranks{3, 2, 1, 3});
  CHECK(torus.neighbors(4, false) == Ranks{1, 3, 5, 1});
  CHECK(torus.neighbors(0, true) == Ranks{5, 3, 4, 2, 1, 5, 3, 4});
  for (int dimensions = 1; dimensions <= max_dimensions; ++dimensions) {
    for (const bool corners : {false, true}) {
      const int count = Stencil{dimensions, corners}.neighbors();
      CHECK(static_cast<int>(Torus(12, dimensions).neighbors(5, corners).size()) == count);
    }
  }
}

TEST_CASE("every rank is the opposite neighbor of its neighbors") {
  for (const int ranks : {1, 2, 6, 8, 12, 27}) {
    for (const int dimensions : {1, 2, 3}) {
      const Torus torus(ranks, dimensions);
      for (int rank = 0; rank < ranks; ++rank) {
        const Ranks mine = torus.neighbors(rank, true);
        const int count = static_cast<int>(mine.size());
        for (int i = 0; i < count; ++i) {
          CHECK(torus.neighbors(mine[i], true)[Torus::opposite(i, count)] == rank);
        }
      }
    }
  }
}

TEST_CASE("a stencil needs a grid without a dimension of one process") {
  const Spec stencil{.name = "Stencil3D", .kind = Kind::parallel_transfer, .stencil = {.dimensions = 3}};
  CHECK(process_counts(stencil, 4, 4).empty());
  CHECK(process_counts(stencil, 12, 2) == Ranks{8, 12});
  const Spec any{
      .name = "Halo", .kind = Kind::parallel_transfer, .stencil = {.dimensions = 3}, .any_torus = true};
  CHECK(process_counts(any, 4, 4) == Ranks{4});
}
