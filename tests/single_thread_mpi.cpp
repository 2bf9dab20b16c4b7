// Interposed: an MPI that reports MPI_THREAD_SINGLE whatever was requested; with FAIL_RANK (inject.h) on one
// rank only.
#include <mpi.h>

#include "inject.h"

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* granted) {
  const int code = PMPI_Init_thread(argc, argv, required, granted);
  if (inject::here()) *granted = MPI_THREAD_SINGLE;
  return code;
}
