// Interposed: MPI_Finalize takes 0.4 s longer, as it does where a fabric is torn down.
#include <mpi.h>
#include <unistd.h>

extern "C" int MPI_Finalize() {
  usleep(400000);
  return PMPI_Finalize();
}
