#pragma once

#include <mpi.h>

namespace openimb {

/// The clock of all times that are reported.
struct WallClock {
  static double now() { return MPI_Wtime(); }
  /// Seconds, as MPI reports them; measured if MPI reports none (Intel MPI 2021.19 for Windows).
  static double resolution();
};

}  // namespace openimb
