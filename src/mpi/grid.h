// A communicator with a periodic grid of two dimensions, owned.
#pragma once

#include <mpi.h>

#include <array>

#include "plan/grid.h"

namespace openimb {

/// Collective over `ranks` to make and to destroy. Ranks keep their order, so that plan/grid.h knows who is
/// whose neighbor.
class GridCommunicator {
 public:
  explicit GridCommunicator(MPI_Comm ranks) {
    int size = 1;
    MPI_Comm_size(ranks, &size);
    const Grid grid = Grid::of(size);
    const std::array<int, 2> extents{grid.rows, grid.columns}, periodic{1, 1};
    MPI_Cart_create(ranks, 2, extents.data(), periodic.data(), 0, &handle_);
  }
  ~GridCommunicator() { MPI_Comm_free(&handle_); }
  GridCommunicator(const GridCommunicator&) = delete;
  GridCommunicator& operator=(const GridCommunicator&) = delete;
  MPI_Comm view() const { return handle_; }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

}  // namespace openimb
