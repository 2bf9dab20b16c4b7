#include "plan/gpu_support.h"

#include <string_view>

namespace openimb {

namespace {

using Answer = GpuSupport::Answer;

/// A setting of an MPI: its library's name, and the words that switch support on.
struct Switch {
  const char* name;
  std::string_view library;
  bool needed;  ///< off unless it is set
};
constexpr Switch switches[] = {{"MPICH_GPU_SUPPORT_ENABLED", "CRAY MPICH", true},
                               {"I_MPI_OFFLOAD", "Intel(R) MPI", true},
                               {"MPIR_CVAR_ENABLE_GPU", "MPICH", false}};

bool is_off(std::string_view value) {
  return value.empty() || value == "0" || value == "no" || value == "off" || value == "false";
}

bool names(std::string_view library, std::string_view name) {
  return library.find(name) != std::string_view::npos;
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
  const std::optional<std::string> set =
      own != nullptr && answers.setting ? answers.setting(own->name) : std::nullopt;
  if (own != nullptr && (set ? is_off(*set) : own->needed)) {
    const std::string name(own->name);
    return {Answer::no, set ? name + "=" + *set : name + " is not set", "set " + name + "=1"};
  }
  if (!answers.call.empty() && answers.said_yes) return {Answer::yes, answers.call, {}};
  if (names(answers.memory_kinds, name_of(api))) {
    return {Answer::yes, "mpi_memory_alloc_kinds " + answers.memory_kinds, {}};
  }
  if (!answers.call.empty()) {
    return {Answer::no, answers.call + " returned 0", other_mpi(answers.library, api)};
  }
  if (own != nullptr && own->needed) return {Answer::yes, std::string(own->name) + "=" + *set, {}};
  return {Answer::unknown, "no call or info key of this MPI", {}};
}

bool reduces_in_blocking_collectives_only(const std::string& library) { return names(library, "Open MPI"); }

}  // namespace openimb
