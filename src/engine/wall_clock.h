#pragma once

#include <mpi.h>

namespace openimb {

/// The clock of all times that are reported.
struct WallClock {
  static double now() { return MPI_Wtime(); }
  /// In seconds, as MPI reports it, or measured where MPI reports none (Intel MPI 2021.19 for Windows).
  static double resolution();
};

}  // namespace openimb
