// Agreement over the ranks of a communicator.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mpi/world.h"
#include "session/agreement.h"

namespace openimb {

/// The barrier that synchronizes ranks: MPI_Barrier, or that of -imb_barrier.
using BarrierFunction = void (*)(MPI_Comm);
inline void library_barrier(MPI_Comm comm) { MPI_Barrier(comm); }

class MpiAgreement final : public Agreement {
 public:
  /// The caller owns the communicator. MPI_COMM_NULL means this rank alone.
  explicit MpiAgreement(const Communicator& members, BarrierFunction own_barrier = library_barrier)
      : members_(members), barrier_(own_barrier) {}
  const Communicator& members() const { return members_; }

  using Agreement::broadcast;
  using Agreement::gather;
  int rank() const override { return alone() ? 0 : members_.rank(); }
  int ranks() const override { return alone() ? 1 : members_.size(); }
  void barrier() override;
  double largest(double mine) override;
  std::vector<double> gather(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<double> slowest(std::span<const double> mine) override;
  void broadcast(std::span<std::byte> bytes) override;

 private:
  bool alone() const { return !members_.contains_me(); }

  const Communicator& members_;
  BarrierFunction barrier_;
};

}  // namespace openimb
