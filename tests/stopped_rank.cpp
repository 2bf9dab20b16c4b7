// Interposed: a rank stops for good where MPI starts (FAIL_RANK, inject.h); with STOP_AFTER=1 when it has
// started.
#include <mpi.h>

#include <csignal>

#include "inject.h"

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const bool after = inject::number_in("STOP_AFTER", 0) != 0;
  if (inject::here() && !after) raise(SIGSTOP);
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  if (inject::here() && after) raise(SIGSTOP);
  return result;
}
