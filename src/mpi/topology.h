// Owns a communicator with a topology.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "model/topology.h"
#include "mpi/calls.h"
#include "mpi/world.h"

namespace openimb {

/// Construction and destruction are collective over `ranks`. Ranks keep their order, so that model/topology.h
/// can compute the neighbors. An MPI error ends the job (mpi/errors.h).
class TopologyCommunicator {
 public:
  TopologyCommunicator(MPI_Comm ranks, const Neighborhood& all) : comm_(create(ranks, all)) {}
  MPI_Comm view() const { return comm_.handle(); }

 private:
  static MPI_Comm create(MPI_Comm ranks, const Neighborhood& all) {
    MPI_Comm comm = MPI_COMM_NULL;
    if (all.extents.empty()) {
      // MPI_UNWEIGHTED is a variable in some libraries, on which a portable program cannot rely.
      const std::vector<int> weights(all.sources.size(), 1);
      MPI_Dist_graph_create_adjacent(ranks, static_cast<int>(all.sources.size()), all.sources.data(),
                                     weights.data(), static_cast<int>(all.destinations.size()),
                                     all.destinations.data(), weights.data(), MPI_INFO_NULL, 0, &comm);
    } else {
      const std::vector<int> periodic(all.extents.size(), 1);
      MPI_Cart_create(ranks, static_cast<int>(all.extents.size()), all.extents.data(), periodic.data(), 0,
                      &comm);
    }
    return comm;
  }

  Communicator comm_;
};

/// Also owns the arguments for each neighbor: `count` elements of one type. Messages are adjacent.
template <class Count>
class NeighborArguments {
 public:
  /// `message_stride`: bytes from one message to the next.
  NeighborArguments(MPI_Comm ranks, const Neighborhood& all, Count count, std::int64_t message_stride,
                    MPI_Datatype type)
      : comm_(ranks, all), counts_(all.sources.size(), count), types_(all.sources.size(), type) {
    for (std::size_t i = 0; i < all.sources.size(); ++i) {
      const auto before = static_cast<std::int64_t>(i);
      at_.push_back(static_cast<call::Displacement<Count>>(before * std::int64_t{count}));
      bytes_.push_back(static_cast<MPI_Aint>(before * message_stride));
    }
  }
  struct View {
    MPI_Comm comm;
    const Count* counts;
    const call::Displacement<Count>* at;  ///< in elements
    const MPI_Aint* bytes;
    const MPI_Datatype* types;
  };
  View view() const { return {comm_.view(), counts_.data(), at_.data(), bytes_.data(), types_.data()}; }

 private:
  TopologyCommunicator comm_;
  std::vector<Count> counts_;
  std::vector<call::Displacement<Count>> at_;
  std::vector<MPI_Aint> bytes_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace openimb
