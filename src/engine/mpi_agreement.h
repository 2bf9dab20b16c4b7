// Agreement over the ranks of a communicator.
#pragma once

#include "mpi/world.h"
#include "session/agreement.h"

namespace openimb {

class MpiAgreement final : public Agreement {
 public:
  /// `meet`: what synchronizes the ranks (MPI_Barrier, or -imb_barrier). The communicator stays the
  /// caller's; a null one stands for this rank alone.
  MpiAgreement(const Communicator& members, void (*meet)(MPI_Comm)) : ranks_(members), barrier_(meet) {}

  int rank() const override { return ranks_.contains_me() ? ranks_.rank() : 0; }
  int ranks() const override { return ranks_.contains_me() ? ranks_.size() : 1; }
  void barrier() override;
  double largest(double mine) override;
  std::vector<double> gather(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<std::vector<double>> gather(std::span<const double> mine) override;
  std::vector<double> slowest(std::span<const double> mine) override;
  void broadcast(std::span<double> values) override;

 private:
  const Communicator& ranks_;
  void (*barrier_)(MPI_Comm);
};

}  // namespace openimb
