// Asks the MPI library whether it supports GPU memory. The extensions for this are looked up at run time,
// because most libraries lack them.
#pragma once

#include "model/mpi_products.h"

namespace openimb {

/// Returns the address of a function in this process, or null.
using FindFunction = void* (*)(const char* name);

/// Returns what this rank's MPI reports. Call it after MPI_Init, and after the GPU was chosen.
GpuAnswers ask_for_gpu_support(GpuApi api, FindFunction find);

}  // namespace openimb
