// How MPI products differ from the standard or from each other. A product is recognized by the text of
// MPI_Get_library_version or by the names of its variables. The functions make no MPI calls.
// docs/known-mpi-issues.md describes how the differences were found. Sources for GPUs: Open MPI's manual page
// of MPIX_Query_cuda_support; MPI 4.1, section 11.4.3 and its side document on memory allocation kinds; Intel
// MPI Library Developer Reference, "GPU Support"; manual page intro_mpi of Cray MPICH.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/memory_kind.h"
#include "model/spec.h"

namespace openimb {

/// What an MPI reports about its support of GPUs.
struct GpuAnswers {
  std::string library = {};       ///< the text of MPI_Get_library_version
  std::string call = {};          ///< name of its query function, MPIX_Query_...; empty: no such function
  bool supported = false;         ///< that function returned 1
  std::string memory_kinds = {};  ///< value of the info key mpi_memory_alloc_kinds; empty: not set
  /// Returns the value of an environment variable, or nothing if it is not set.
  std::function<std::optional<std::string>(const char* name)> setting = {};
};

/// Whether the MPI supports GPUs of `api`. The evidence, in order of precedence: a setting that switches
/// support off, the query function, the info key, a setting that switches support on.
GpuSupport support_of(GpuApi api, const GpuAnswers& answers);

/// Whether an MPI supports GPU memory in only some of its calls, as Open MPI does. Sources: its documentation
/// of CUDA, "Which MPI APIs do not work"; functions of its coll/cuda; Open MPI issue 12620.
bool supports_gpus_in_part(const std::string& library);
/// Whether an MPI with partial support would reduce data in GPU memory on the host. coll/cuda has no
/// nonblocking or persistent reductions, no Reduce_scatter and no Reduce_local.
bool reduces_on_host(const Spec& spec);

/// Returns why a call hangs in this library although the library has it, or an empty text. `call`: without
/// "MPI_".
std::string_view hang_reason(std::string_view call, std::string_view library);

/// Why a control variable (MPI_T) cannot change after MPI_Init, or an empty text. MPICH reads some variables
/// only in MPI_Init, so that a later write has no effect. MPI_T does not show this: the scope of these
/// variables is MPI_T_SCOPE_ALL_EQ, and a write succeeds and can be read back. Source: MPICH 5.0.2,
/// src/mpid/ch4/src/ch4_init.c, src/util/mpir_nodemap.h, src/mpi/init.
std::string_view init_only_reason(std::string_view variable);

/// A variable that can make another one have no effect.
struct VariableSwitch {
  std::string name = {};    ///< empty: there is no such variable
  std::string effect = {};  ///< what follows the name of the other variable in a message
};
/// The variable that must be on so that Open MPI does not ignore `variable`.
VariableSwitch required_switch(std::string_view variable);
/// The variable that, if it is on, makes MPICH use a collective of the device instead of the algorithm that
/// `variable` selects.
VariableSwitch device_switch(std::string_view variable);

}  // namespace openimb
