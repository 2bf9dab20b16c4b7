// Interposed: MPI_Init_thread takes 0.3 s longer on rank 1.
#include <mpi.h>
#include <unistd.h>

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = PMPI_Init_thread(argc, argv, required, provided);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) usleep(300000);
  return result;
}
