#include "plan/gpu_support.h"

#include <algorithm>
#include <string_view>

namespace openimb {

namespace {

using Answer = GpuSupport::Answer;

/// A setting of an MPI that switches support on or off.
struct Switch {
  const char* name;
  std::string_view library;  ///< a part of its text of the version
  bool needed;               ///< off unless it is set
  bool rocm;                 ///< whether it is for AMD's GPUs, too
};
constexpr Switch switches[] = {{"MPICH_GPU_SUPPORT_ENABLED", "CRAY MPICH", true, true},
                               {"I_MPI_OFFLOAD", "Intel(R) MPI", true, false},
                               {"MPIR_CVAR_ENABLE_GPU", "MPICH", false, true}};
constexpr const char* offload_mode = "I_MPI_OFFLOAD_MODE";  ///< auto, level_zero or cuda

bool is_off(std::string_view value) {
  return value.empty() || value == "0" || value == "no" || value == "off" || value == "false";
}

bool names(std::string_view library, std::string_view name) {
  return library.find(name) != std::string_view::npos;
}

// Cray MPICH ends MPI_Init if the library that gives it access to the GPUs is not linked.
std::string switched_on(const Switch& own, GpuApi api) {
  const std::string text = std::string("set ") + own.name + "=1";
  if (own.library != "CRAY MPICH") return text;
  return text + " and LD_PRELOAD=libmpi_gtl_" + (api == GpuApi::cuda ? "cuda.so" : "hsa.so");
}

// Whether one of the kinds, as "system,cuda:device", is memory of the device itself.
bool lists_device(std::string_view kinds, std::string_view api) {
  while (!kinds.empty()) {
    const std::size_t end = std::min(kinds.find(','), kinds.size());
    const std::string_view kind = kinds.substr(0, end);
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
    if (kind == api || kind == std::string(api) + ":device") return true;
  }
  return false;
}

// What to do where there is no setting.
std::string other_mpi(std::string_view library, GpuApi api) {
  const std::string option = api == GpuApi::cuda          ? "--with-cuda"
                             : names(library, "Open MPI") ? "--with-rocm"
                                                          : "--with-hip";
  return "use an MPI built with " + option;
}

}  // namespace

GpuSupport support_of(GpuApi api, const GpuAnswers& answers) {
  const Switch* own = nullptr;
  for (const Switch& one : switches) {
    if (own == nullptr && names(answers.library, one.library)) own = &one;
  }
  const auto setting = [&](const char* name) {
    return own != nullptr && answers.setting ? answers.setting(name) : std::nullopt;
  };
  if (own != nullptr && api == GpuApi::rocm && !own->rocm) {
    return {Answer::no, std::string(own->library) + " is for other GPUs", other_mpi(answers.library, api)};
  }
  const std::optional<std::string> set = own != nullptr ? setting(own->name) : std::nullopt;
  if (own != nullptr && (set ? is_off(*set) : own->needed)) {
    const std::string name(own->name);
    return {Answer::no, set ? name + "=" + *set : name + " is not set", switched_on(*own, api)};
  }
  const bool of_intel = own != nullptr && !own->rocm;
  const std::optional<std::string> mode = of_intel ? setting(offload_mode) : std::nullopt;
  if (mode && *mode != "auto" && *mode != "cuda") {
    return {Answer::no, std::string(offload_mode) + "=" + *mode,
            std::string("set ") + offload_mode + "=cuda"};
  }
  if (!answers.call.empty() && answers.said_yes) return {Answer::yes, answers.call, {}};
  if (lists_device(answers.memory_kinds, name_of(api))) {
    return {Answer::yes, "mpi_memory_alloc_kinds " + answers.memory_kinds, {}};
  }
  if (!answers.call.empty()) {
    return {Answer::no, answers.call + " returned 0", other_mpi(answers.library, api)};
  }
  if (own != nullptr && own->needed) return {Answer::yes, std::string(own->name) + "=" + *set, {}};
  return {Answer::unknown, "no call or info key of this MPI", {}};
}

bool handles_gpus_in_part(const std::string& library) { return names(library, "Open MPI"); }

}  // namespace openimb
