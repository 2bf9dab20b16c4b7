#include "mpi/optional.h"

#include <array>

#include "mpi/calls.h"

namespace openimb::call {

#ifdef OPENIMB_PORTABLE

// Libraries have all of them or none (tests/test_wheel.py): one of each kind shows which.
bool has_large_counts() {
  return MPI_Send_c != nullptr && MPI_Type_contiguous_c != nullptr && MPI_Reduce_scatter_c != nullptr &&
         MPI_Bcast_init_c != nullptr && MPI_Neighbor_alltoallw_c != nullptr && MPI_Put_c != nullptr &&
         MPI_File_write_c != nullptr && MPI_File_read_ordered_begin_c != nullptr;
}

static std::string_view why_missing(std::string_view name) {
#define OPENIMB_LOOK(call) \
  if (name == #call) return MPI_##call ? "" : "this MPI library has no MPI_" #call;
  OPENIMB_MPI_CALLS(OPENIMB_LOOK)
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
