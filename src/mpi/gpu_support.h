// What the MPI library reports of memory of GPUs. Its extensions are looked up when the program runs: most
// libraries lack them.
#pragma once

#include "plan/gpu_support.h"

namespace openimb {

/// The address of a function that is in this process, or null.
using FindFunction = void* (*)(const char* name);

/// Of this rank. After MPI_Init, and after the GPU was chosen.
GpuAnswers ask_for_gpu_support(GpuApi api, FindFunction find);

}  // namespace openimb
