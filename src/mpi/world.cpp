#include "mpi/world.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace openimb {

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Environment::Environment(int& argc, char**& argv, ThreadLevel wanted) {
  // Indexed by ThreadLevel. MPI's numbers ascend, but differ between MPIs.
  constexpr std::array levels{MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                              MPI_THREAD_MULTIPLE};
  using Clock = std::chrono::steady_clock;  // MPI_Wtime is not allowed before MPI_Init
  init_.began = time_of_day();
  const Clock::time_point start = Clock::now();
  int granted = MPI_THREAD_SINGLE;
  started_ = MPI_Init_thread(&argc, &argv, levels[static_cast<std::size_t>(wanted)], &granted) == MPI_SUCCESS;
  init_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto level = std::ranges::find(levels, granted);
  if (level != levels.end()) granted_ = static_cast<ThreadLevel>(level - levels.begin());
  if (started_) make_errors_fatal();
}

Environment::~Environment() { MPI_Finalize(); }

Communicator Communicator::duplicate(MPI_Comm source) {
  if (source == MPI_COMM_NULL) return {};
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(source, &comm);
  return Communicator(comm);
}

Communicator Communicator::split(int color, int key) const {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(handle_, color < 0 ? MPI_UNDEFINED : color, key, &comm);
  return Communicator(comm);
}

int Communicator::rank() const {
  int rank = 0;
  MPI_Comm_rank(handle_, &rank);
  return rank;
}

int Communicator::size() const {
  int size = 0;
  MPI_Comm_size(handle_, &size);
  return size;
}

void dissemination_barrier(MPI_Comm comm) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  constexpr int barrier_tag = 32000;
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int to = (rank + distance) % ranks;
    const int from = (rank - distance + ranks) % ranks;
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, to, barrier_tag, nullptr, 0, MPI_BYTE, from, barrier_tag, comm,
                 MPI_STATUS_IGNORE);
  }
}

Communicator Communicator::split_by_host(MPI_Comm all) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  return Communicator(host);
}

std::string mpi_standard() {
  int version = 0, subversion = 0;
  MPI_Get_version(&version, &subversion);
  return std::to_string(version) + "." + std::to_string(subversion);
}

std::string mpi_library() {
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  text = text.substr(0, text.find('\n'));
  std::string condensed;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\0' || c == '\r';
    if (!blank)
      condensed += c;
    else if (!condensed.empty() && condensed.back() != ' ')
      condensed += ' ';
  }
  while (!condensed.empty() && (condensed.back() == ' ' || condensed.back() == ',')) condensed.pop_back();
  return condensed;
}

}  // namespace openimb
