// Whether an MPI supports memory of GPUs, from what it reports about itself. Sources: Open MPI's manual page
// of MPIX_Query_cuda_support; MPI 4.1, section 11.4.3 and its side document on memory allocation kinds; Intel
// MPI Library Developer Reference, "GPU Support"; manual page intro_mpi of Cray MPICH.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "model/memory_kind.h"

namespace openimb {

struct GpuAnswers {
  std::string library = {};       ///< the text of MPI_Get_library_version
  std::string call = {};          ///< name of its query function, MPIX_Query_...; empty: it has none
  bool supported = false;         ///< that function returned 1
  std::string memory_kinds = {};  ///< value of the info key mpi_memory_alloc_kinds; empty: not set
  /// Returns an environment variable; nothing where it is not set.
  std::function<std::optional<std::string>(const char* name)> setting = {};
};

/// In order of precedence: a setting that switches support off, the query function, the info key, a setting
/// that switches support on.
GpuSupport support_of(GpuApi api, const GpuAnswers& answers);

/// Whether an MPI that supports memory of GPUs does so in only some of its calls: Open MPI. Sources: its
/// documentation of CUDA, "Which MPI APIs do not work"; functions of its component coll/cuda; Open MPI issue
/// 12620.
bool handles_gpus_in_part(const std::string& library);

}  // namespace openimb
