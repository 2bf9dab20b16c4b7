#include "model/mpi_products.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace openimb {

namespace {

using Answer = GpuSupport::Answer;

/// An environment variable that switches an MPI's support of GPUs on or off.
struct Switch {
  const char* name;
  std::string_view library;  ///< identifies the MPI: part of the text of MPI_Get_library_version
  bool needed;               ///< support is off unless the variable is set
  bool rocm;                 ///< also applies to AMD's GPUs
};
constexpr Switch switches[] = {{"MPICH_GPU_SUPPORT_ENABLED", "CRAY MPICH", true, true},
                               {"I_MPI_OFFLOAD", "Intel(R) MPI", true, false},
                               {"MPIR_CVAR_ENABLE_GPU", "MPICH", false, true}};
constexpr const char* offload_mode = "I_MPI_OFFLOAD_MODE";  ///< its values: auto, level_zero, cuda

bool is_off(std::string_view value) {
  return value.empty() || value == "0" || value == "no" || value == "off" || value == "false";
}

bool contains(std::string_view library, std::string_view name) {
  return library.find(name) != std::string_view::npos;
}

// Returns how to switch support on. In Cray MPICH, MPI_Init also fails unless the library that gives it
// access to the GPUs is loaded.
std::string remedy_with_switch(const Switch& gpu_switch, GpuApi api) {
  const std::string text = std::string("set ") + gpu_switch.name + "=1";
  if (gpu_switch.library != "CRAY MPICH") return text;
  return text + " and LD_PRELOAD=libmpi_gtl_" + (api == GpuApi::cuda ? "cuda.so" : "hsa.so");
}

// Whether a list of memory kinds, such as "system,cuda:device", contains device memory of `api`.
bool lists_device(std::string_view kinds, std::string_view api) {
  while (!kinds.empty()) {
    const std::size_t end = std::min(kinds.find(','), kinds.size());
    const std::string_view kind = kinds.substr(0, end);
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
    if (kind == api || kind == std::string(api) + ":device") return true;
  }
  return false;
}

// Returns the remedy if no setting can switch support on.
std::string other_mpi(std::string_view library, GpuApi api) {
  const std::string option = api == GpuApi::cuda             ? "--with-cuda"
                             : contains(library, "Open MPI") ? "--with-rocm"
                                                             : "--with-hip";
  return "use an MPI built with " + option;
}

}  // namespace

GpuSupport support_of(GpuApi api, const GpuAnswers& answers) {
  const Switch* gpu_switch = nullptr;
  for (const Switch& candidate : switches) {
    if (gpu_switch == nullptr && contains(answers.library, candidate.library)) gpu_switch = &candidate;
  }
  const auto setting = [&](const char* name) {
    return gpu_switch != nullptr && answers.setting ? answers.setting(name) : std::nullopt;
  };
  if (gpu_switch != nullptr && api == GpuApi::rocm && !gpu_switch->rocm) {
    return {Answer::no, std::string(gpu_switch->library) + " does not support AMD GPUs",
            other_mpi(answers.library, api)};
  }
  const std::optional<std::string> set = gpu_switch != nullptr ? setting(gpu_switch->name) : std::nullopt;
  if (gpu_switch != nullptr && (set ? is_off(*set) : gpu_switch->needed)) {
    const std::string name(gpu_switch->name);
    return {Answer::no, set ? name + "=" + *set : name + " is not set", remedy_with_switch(*gpu_switch, api)};
  }
  const bool is_intel = gpu_switch != nullptr && !gpu_switch->rocm;
  const std::optional<std::string> mode = is_intel ? setting(offload_mode) : std::nullopt;
  if (mode && *mode != "auto" && *mode != "cuda") {
    return {Answer::no, std::string(offload_mode) + "=" + *mode,
            std::string("set ") + offload_mode + "=cuda"};
  }
  if (!answers.call.empty() && answers.supported) return {Answer::yes, answers.call, {}};
  if (lists_device(answers.memory_kinds, name_of(api))) {
    return {Answer::yes, "mpi_memory_alloc_kinds " + answers.memory_kinds, {}};
  }
  if (!answers.call.empty()) {
    return {Answer::no, answers.call + " returned 0", other_mpi(answers.library, api)};
  }
  if (gpu_switch != nullptr && gpu_switch->needed)
    return {Answer::yes, std::string(gpu_switch->name) + "=" + *set, {}};
  return {Answer::unknown, "no call or info key of this MPI", {}};
}

bool supports_gpus_in_part(const std::string& library) { return contains(library, "Open MPI"); }

bool reduces_on_host(const Spec& spec) {
  return spec.reduction && (spec.starts || spec.receive == Messages::even_share || spec.updates_receive);
}

std::string_view hang_reason(std::string_view call, std::string_view library) {
  if (call == "Psend_init" && library.starts_with("Open MPI v5.0.")) {
    return "this MPI, Open MPI 5.0, hangs in partitioned communication";
  }
  return {};
}

std::string_view init_only_reason(std::string_view variable) {
  constexpr std::string_view mpich = "MPIR_CVAR_";
  constexpr std::string_view names[] = {
      // Transports and their resources
      "CH4_NETMOD", "CH4_SHM", "NEMESIS_NETMOD", "OFI_USE_PROVIDER", "OFI_SKIP_IPV6", "SINGLE_HOST_ENABLED",
      "CH4_NUM_VCIS", "CH4_RESERVE_VCIS", "CH4_MT_MODEL", "ENABLE_GPU", "CH4_UCX_ENABLE_UCC",
      "CH4_SHM_POSIX_EAGER", "CH4_SHM_POSIX_TOPO_ENABLE", "CH4_SHM_POSIX_IQUEUE_NUM_CELLS",
      "CH4_SHM_POSIX_IQUEUE_CELL_SIZE",
      // Which processes share a host
      "NOLOCAL", "ODD_EVEN_CLIQUES", "NUM_CLIQUES", "CLIQUES_BY_BLOCK",
      // Threads and the process manager
      "ASYNC_PROGRESS", "PROGRESS_THREAD_AFFINITY", "DEFAULT_THREAD_LEVEL", "PMI_VERSION",
      "PMI_DISABLE_GROUP", "CH4_ROOTS_ONLY_PMI"};
  const bool known = variable.starts_with(mpich) &&
                     std::ranges::find(names, variable.substr(mpich.size())) != std::end(names);
  return known ? "MPICH reads it only in MPI_Init; set it in the environment and compare launches" : "";
}

VariableSwitch required_switch(std::string_view variable) {
  const std::string rules = "coll_tuned_use_dynamic_rules";
  if (!variable.starts_with("coll_tuned_") || variable == rules) return {};
  return {rules, "Open MPI ignores it unless OMPI_MCA_" + rules + "=1 is in the environment of all ranks"};
}

VariableSwitch device_switch(std::string_view variable) {
  constexpr std::string_view algorithm = "_INTRA_ALGORITHM";
  if (!variable.starts_with("MPIR_CVAR_") || !variable.ends_with(algorithm)) return {};
  const std::string device =
      std::string(variable.substr(0, variable.size() - algorithm.size())) + "_DEVICE_COLLECTIVE";
  return {device, "has no effect if MPICH uses device collectives, as it does on one host; also set " +
                      device + "=0"};
}

}  // namespace openimb
