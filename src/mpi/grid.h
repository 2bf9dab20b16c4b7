// A communicator with a periodic grid of two dimensions, owned.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "mpi/calls.h"
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

/// With arguments for each neighbor: so many elements of one type, one message behind the other.
template <class Count>
class GridWithArguments {
 public:
  /// `span`: bytes from one message to the next.
  GridWithArguments(MPI_Comm ranks, Count count, std::int64_t span, MPI_Datatype type)
      : grid_(ranks), counts_(grid_neighbors, count), types_(grid_neighbors, type) {
    for (int i = 0; i < grid_neighbors; ++i) {
      at_.push_back(static_cast<call::Displacement<Count>>(i * std::int64_t{count}));
      bytes_.push_back(static_cast<MPI_Aint>(i * span));
    }
  }
  struct View {
    MPI_Comm comm;
    const Count* counts;
    const call::Displacement<Count>* at;  ///< in elements
    const MPI_Aint* bytes;
    const MPI_Datatype* types;
  };
  View view() const { return {grid_.view(), counts_.data(), at_.data(), bytes_.data(), types_.data()}; }

 private:
  GridCommunicator grid_;
  std::vector<Count> counts_;
  std::vector<call::Displacement<Count>> at_;
  std::vector<MPI_Aint> bytes_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace openimb
