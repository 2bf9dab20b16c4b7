#pragma once

#include <mpi.h>

namespace openimb {

/// The clock of all times that are reported.
struct WallClock {
  static double now() { return MPI_Wtime(); }
};

}  // namespace openimb
