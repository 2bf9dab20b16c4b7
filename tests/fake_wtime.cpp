// Interposed by LD_PRELOAD: MPI_Wtime of fake_clock.h.
#include <mpi.h>

#include <map>

#include "fake_clock.h"

namespace {

// By rank: simulated ranks share one process.
std::map<int, fake::Clock>& clocks() {
  static std::map<int, fake::Clock> all;
  return all;
}

}  // namespace

extern "C" double MPI_Wtime() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double truth = PMPI_Wtime();
  const auto [clock, first] = clocks().try_emplace(rank);
  if (first) clock->second = fake::clock_of(rank, truth);
  return clock->second.reading(truth);
}
