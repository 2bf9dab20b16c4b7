#include "engine/mpi_process_group.h"

namespace openimb {

void MpiProcessGroup::barrier() {
  if (!has_one_rank()) barrier_(communicator_.handle());
}

double MpiProcessGroup::allreduce_max(double mine) {
  double all = mine;
  if (!has_one_rank()) MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, communicator_.handle());
  return all;
}

std::vector<double> MpiProcessGroup::gather(double mine) {
  if (has_one_rank()) return {mine};
  std::vector<double> all(rank() == 0 ? static_cast<std::size_t>(ranks()) : 0);
  MPI_Gather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, communicator_.handle());
  return all;
}

std::vector<std::string> MpiProcessGroup::gather(const std::string& mine) {
  if (has_one_rank()) return {mine};
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(rank() == 0 ? static_cast<std::size_t>(ranks()) : 0);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, communicator_.handle());
  const std::vector<int> offsets = offsets_of(lengths);
  std::string all(lengths.empty() ? 0 : static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
              communicator_.handle());
  std::vector<std::string> texts;
  texts.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) texts.push_back(all.substr(offsets[i], lengths[i]));
  return texts;
}

std::vector<double> MpiProcessGroup::reduce_max(std::span<const double> mine) {
  if (has_one_rank()) return {mine.begin(), mine.end()};
  std::vector<double> all(rank() == 0 ? mine.size() : 0);
  MPI_Reduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_DOUBLE, MPI_MAX, 0,
             communicator_.handle());
  return all;
}

void MpiProcessGroup::broadcast(std::span<std::byte> bytes) {
  if (!has_one_rank())
    MPI_Bcast(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, 0, communicator_.handle());
}

}  // namespace openimb
