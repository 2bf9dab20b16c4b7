#include "mpi/gpu_support.h"

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <span>

#include "mpi/world.h"

namespace openimb {

namespace {

std::optional<std::string> setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

// The value of an info key of MPI_COMM_WORLD. Source: MPI 4.1, section 11.4.3.
std::string memory_kinds() {
#ifdef OPENIMB_SMPI
  return {};
#else
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  if (info == MPI_INFO_NULL) return {};
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int is_set = 0;
  MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, value.data(), &is_set);
  MPI_Info_free(&info);
  return is_set != 0 ? value.data() : "";
#endif
}

}  // namespace

GpuAnswers ask_for_gpu_support(GpuApi api, FindFunction find) {
  constexpr const char* cuda_queries[] = {"MPIX_Query_cuda_support"};
  constexpr const char* rocm_queries[] = {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"};
  const bool cuda = api == GpuApi::cuda;
  GpuAnswers answers{.library = mpi_library(), .memory_kinds = memory_kinds(), .setting = setting};
  for (const char* const name : cuda ? std::span<const char* const>(cuda_queries) : std::span(rocm_queries)) {
    const auto query = reinterpret_cast<int (*)()>(find(name));
    if (query == nullptr) continue;
    answers.call = name;
    answers.supported = query() != 0;
    break;
  }
  return answers;
}

}  // namespace openimb
