// A periodic grid of two dimensions over the ranks of a group: who is whose neighbor, without MPI. Source:
// MPI 4.0, sections 8.5.2 (MPI_Dims_create) and 8.6 (order of neighbors on Cartesian topologies).
#pragma once

#include <array>

namespace openimb {

inline constexpr int grid_neighbors = 4;

struct Grid {
  int rows = 1;
  int columns = 1;  ///< at most `rows`

  /// As square as the number of ranks allows.
  static constexpr Grid of(int ranks) {
    Grid grid{ranks, 1};
    for (int columns = 2; columns * columns <= ranks; ++columns) {
      if (ranks % columns == 0) grid = {ranks / columns, columns};
    }
    return grid;
  }

  /// Ranks of the neighbors in MPI's order: row above, row below, column to the left, to the right. A grid
  /// that is one or two wide has the same rank more than once.
  constexpr std::array<int, grid_neighbors> neighbors(int rank) const {
    const int row = rank / columns, column = rank % columns;
    return {(row + rows - 1) % rows * columns + column, (row + 1) % rows * columns + column,
            row * columns + (column + columns - 1) % columns, row * columns + (column + 1) % columns};
  }

  /// Which of a rank's neighbors, by number, lies in the opposite direction of neighbor `i`.
  static constexpr int opposite(int i) { return i ^ 1; }
};

}  // namespace openimb
