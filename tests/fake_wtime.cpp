// Interposed by LD_PRELOAD: MPI_Wtime of fake_clock.h.
//   FAKE_SET=rank,n,by   the clock of a rank is set by so many seconds when it calls MPI_Bcast for the nth
//   time
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "fake_clock.h"

namespace {

// By rank: simulated ranks share one process.
std::map<int, fake::Clock>& clocks() {
  static std::map<int, fake::Clock> all;
  return all;
}

struct Setting {
  int rank = -1, broadcasts = 0;
  double by = 0;
};

const Setting& setting() {
  static const Setting setting = [] {
    Setting read;
    if (const char* const text = std::getenv("FAKE_SET")) {
      std::sscanf(text, "%d,%d,%lf", &read.rank, &read.broadcasts, &read.by);
    }
    return read;
  }();
  return setting;
}

}  // namespace

extern "C" int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  static int broadcasts = 0;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == setting().rank && ++broadcasts == setting().broadcasts) clocks()[rank].offset += setting().by;
  return PMPI_Bcast(buffer, count, type, root, comm);
}

extern "C" double MPI_Wtime() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double truth = PMPI_Wtime();
  const auto [clock, first] = clocks().try_emplace(rank);
  if (first) clock->second = fake::clock_of(rank, truth);
  return clock->second.reading(truth);
}
