// The periodic grid of neighborhood collectives: who is whose neighbor.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "plan/grid.h"

using namespace openimb;

TEST_CASE("a grid has all ranks and is as square as their number allows") {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const Grid grid = Grid::of(ranks);
    CHECK(grid.rows * grid.columns == ranks);
    CHECK(grid.columns <= grid.rows);
    for (int columns = grid.columns + 1; columns * columns <= ranks; ++columns) CHECK(ranks % columns != 0);
  }
  CHECK((Grid::of(12).rows == 4 && Grid::of(12).columns == 3));
  CHECK((Grid::of(16).rows == 4 && Grid::of(16).columns == 4));
}

TEST_CASE("a prime number of ranks is a ring") {
  for (const int ranks : {2, 3, 5, 7, 13, 61}) {
    const Grid grid = Grid::of(ranks);
    CHECK((grid.rows == ranks && grid.columns == 1));
    for (int rank = 0; rank < ranks; ++rank) {
      CHECK(grid.neighbors(rank) == std::array{(rank + ranks - 1) % ranks, (rank + 1) % ranks, rank, rank});
    }
  }
}

TEST_CASE("who is my neighbor in one direction has me as its neighbor in the opposite one") {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const Grid grid = Grid::of(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto neighbors = grid.neighbors(rank);
      for (int i = 0; i < grid_neighbors; ++i) {
        const int other = neighbors[static_cast<std::size_t>(i)];
        REQUIRE((other >= 0 && other < ranks));
        CHECK(grid.neighbors(other)[static_cast<std::size_t>(Grid::opposite(i))] == rank);
      }
    }
  }
}

TEST_CASE("in each direction every rank is one rank's neighbor") {
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const Grid grid = Grid::of(ranks);
    for (std::size_t i = 0; i < grid_neighbors; ++i) {
      std::set<int> reached;
      for (int rank = 0; rank < ranks; ++rank) reached.insert(grid.neighbors(rank)[i]);
      CHECK(static_cast<int>(reached.size()) == ranks);
    }
  }
}

TEST_CASE("neighbors come in MPI's order: above, below, left, right") {
  const Grid grid = Grid::of(12);  // 4 rows of 3
  CHECK(grid.neighbors(4) == std::array{1, 7, 3, 5});
  CHECK(grid.neighbors(0) == std::array{9, 3, 2, 1});
  CHECK(grid.neighbors(11) == std::array{8, 2, 10, 9});
}

TEST_CASE("one rank alone is its own neighbor in all directions") {
  CHECK(Grid::of(1).neighbors(0) == std::array{0, 0, 0, 0});
}

TEST_CASE("directions are opposite in pairs") {
  for (int i = 0; i < grid_neighbors; ++i) {
    CHECK(Grid::opposite(i) != i);
    CHECK(Grid::opposite(Grid::opposite(i)) == i);
  }
}
