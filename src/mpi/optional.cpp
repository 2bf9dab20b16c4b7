#include "mpi/optional.h"

#include <array>

#include "mpi/calls.h"

namespace openimb::call {

#ifdef OPENIMB_PORTABLE

bool has_large_counts() {
#define OPENIMB_IS_THERE(name) &&MPI_##name##_c != nullptr
  static const bool all_exist = true OPENIMB_LARGE_CALLS(OPENIMB_IS_THERE);
#undef OPENIMB_IS_THERE
  return all_exist;
}

static std::string_view why_missing(std::string_view name) {
#define OPENIMB_LOOK(call) \
  if (name == #call) return MPI_##call ? "" : "this MPI library has no MPI_" #call;
  OPENIMB_OPTIONAL_CALLS(OPENIMB_LOOK)
#undef OPENIMB_LOOK
  return {};
}

#else

bool has_large_counts() { return built_with_large_counts; }
static std::string_view why_missing(std::string_view) { return {}; }

#endif

static bool is_open_mpi_5_0() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  return std::string_view(version.data(), static_cast<std::size_t>(length)).starts_with("Open MPI v5.0.");
}

std::string_view why_unusable(std::string_view call) {
  if (call == "Psend_init" && is_open_mpi_5_0()) {
    return "this MPI, Open MPI 5.0, hangs in partitioned communication";
  }
  return why_missing(call);
}

}  // namespace openimb::call
