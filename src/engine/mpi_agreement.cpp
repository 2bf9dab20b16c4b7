#include "engine/mpi_agreement.h"

#include <numeric>

namespace openimb {

void MpiAgreement::barrier() {
  if (ranks_.contains_me()) barrier_(ranks_.handle());
}

double MpiAgreement::largest(double mine) { return ranks_.contains_me() ? ranks_.largest(mine) : mine; }

std::vector<double> MpiAgreement::gather(double mine) {
  return ranks_.contains_me() ? ranks_.gather(mine) : std::vector{mine};
}

std::vector<std::string> MpiAgreement::gather(const std::string& mine) {
  return ranks_.contains_me() ? ranks_.gather(mine) : std::vector{mine};
}

std::vector<std::vector<double>> MpiAgreement::gather(std::span<const double> mine) {
  if (!ranks_.contains_me()) return {{mine.begin(), mine.end()}};
  const bool root = rank() == 0;
  const int count = static_cast<int>(mine.size());
  std::vector<int> counts(root ? static_cast<std::size_t>(ranks()) : 0);
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, ranks_.handle());
  std::vector<int> offsets(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  std::vector<double> all(static_cast<std::size_t>(std::reduce(counts.begin(), counts.end())));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), offsets.data(), MPI_DOUBLE, 0,
              ranks_.handle());
  std::vector<std::vector<double>> each;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto first = all.begin() + offsets[i];
    each.emplace_back(first, first + counts[i]);
  }
  return each;
}

std::vector<double> MpiAgreement::slowest(std::span<const double> mine) {
  if (!ranks_.contains_me()) return {mine.begin(), mine.end()};
  std::vector<double> all(rank() == 0 ? mine.size() : 0);
  MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0, ranks_.handle());
  return all;
}

void MpiAgreement::broadcast(std::span<double> values) {
  if (!ranks_.contains_me()) return;
  MPI_Bcast(values.data(), static_cast<int>(values.size()), MPI_DOUBLE, 0, ranks_.handle());
}

}  // namespace openimb
