// Do ranks start, find each other and deliver a message? Prints, of rank 0: ranks, whether data was right,
// microseconds of one way, the library.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, length = 0, right = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int repetitions = 100;
  const double begin = MPI_Wtime();
  for (int i = 0; ranks == 2 && i < repetitions; ++i) {
    int value = rank == 0 ? i : -1;
    if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    right = right && value == i;
  }
  const double microseconds = (MPI_Wtime() - begin) / repetitions / 2 * 1e6;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(library, &length);
  if (rank == 0) std::printf("openimb-check %d %d %.3f %.60s\n", ranks, right, microseconds, library);
  MPI_Finalize();
}
