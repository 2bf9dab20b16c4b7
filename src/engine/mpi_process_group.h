// The ProcessGroup of a communicator.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mpi/world.h"
#include "session/process_group.h"

namespace openimb {

/// A function that synchronizes ranks: MPI_Barrier, or the barrier of -imb_barrier.
using BarrierFunction = void (*)(MPI_Comm);
inline void library_barrier(MPI_Comm comm) { MPI_Barrier(comm); }

class MpiProcessGroup final : public ProcessGroup {
 public:
  /// The caller owns the communicator. With MPI_COMM_NULL, the group has only this rank.
  explicit MpiProcessGroup(const Communicator& communicator, BarrierFunction own_barrier = library_barrier)
      : communicator_(communicator), barrier_(own_barrier) {}
  const Communicator& communicator() const { return communicator_; }

  using ProcessGroup::broadcast;
  using ProcessGroup::gather;
  int rank() const override { return has_one_rank() ? 0 : communicator_.rank(); }
  int ranks() const override { return has_one_rank() ? 1 : communicator_.size(); }
  void barrier() override;
  double allreduce_max(double mine) override;
  std::vector<double> gather(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<double> reduce_max(std::span<const double> mine) override;
  void broadcast(std::span<std::byte> bytes) override;

 private:
  bool has_one_rank() const { return !communicator_.contains_me(); }

  const Communicator& communicator_;
  BarrierFunction barrier_;
};

}  // namespace openimb
