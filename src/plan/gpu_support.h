// Whether an MPI handles memory of GPUs, from all that it reports of itself. Sources: Open MPI's manual page
// of MPIX_Query_cuda_support; MPI 4.1, section 11.4.3 and its side document on memory allocation kinds; Intel
// MPI Library Developer Reference, "GPU Support"; manual page intro_mpi of Cray MPICH.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "plan/memory_kind.h"

namespace openimb {

struct GpuAnswers {
  std::string library = {};       ///< the text of MPI_Get_library_version
  std::string call = {};          ///< that was found; empty: none
  bool said_yes = false;          ///< it returned 1
  std::string memory_kinds = {};  ///< value of the info key mpi_memory_alloc_kinds; empty: there is none
  /// A variable of the environment; nothing where it is not set.
  std::function<std::optional<std::string>(const char* name)> setting = {};
};

/// A setting that switches it off counts first, then the call, the info key, and a setting that switches it
/// on.
GpuSupport support_of(GpuApi api, const GpuAnswers& answers);

/// Whether an MPI with such support has it in a part of its calls: Open MPI. Sources: its documentation of
/// CUDA, "Which MPI APIs do not work"; functions of its component coll/cuda; Open MPI issue 12620.
bool handles_gpus_in_part(const std::string& library);

}  // namespace openimb
