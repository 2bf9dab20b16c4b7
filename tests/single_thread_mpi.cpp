// Interposed: an MPI that grants MPI_THREAD_SINGLE whatever was requested.
#include <mpi.h>

extern "C" int MPI_Init_thread(int* argc, char*** argv, int, int* granted) {
  return PMPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, granted);
}
