// What MPI products do differently from the standard or from each other, by the text of
// MPI_Get_library_version or by the names of their variables; no MPI. Found with: docs/known-mpi-issues.md.
// Sources for GPUs: Open MPI's manual page of MPIX_Query_cuda_support; MPI 4.1, section 11.4.3 and its side
// document on memory allocation kinds; Intel MPI Library Developer Reference, "GPU Support"; manual page
// intro_mpi of Cray MPICH.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/memory_kind.h"
#include "model/spec.h"

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
/// documentation of CUDA, "Which MPI APIs do not work"; functions of its coll/cuda; Open MPI issue 12620.
bool supports_gpus_in_part(const std::string& library);
/// Whether such an MPI would reduce memory of a GPU on the host: coll/cuda has no nonblocking and persistent
/// reductions, no Reduce_scatter and no Reduce_local.
bool reduces_on_host(const Spec& spec);

/// Why a call that the library has cannot be used; empty where it can. `call`: without "MPI_".
std::string_view hang_reason(std::string_view call, std::string_view library);

/// Whether a control variable (MPI_T) is one that MPICH reads in MPI_Init only: what it selects and allocates
/// there stays. MPI_T gives no hint: their scope is the same as for algorithms (MPI_T_SCOPE_ALL_EQ), a write
/// succeeds and is read back. Source: MPICH 5.0.2, src/mpid/ch4/src/ch4_init.c, src/util/mpir_nodemap.h,
/// src/mpi/init.
bool is_read_in_init_only(std::string_view variable);

/// The variable without which Open MPI ignores this one; empty where it needs none.
std::string_view required_switch(std::string_view variable);
/// The variable that makes MPICH use collectives of the device instead of what this one selects; empty where
/// there is none.
std::string device_switch(std::string_view variable);

}  // namespace openimb
