#include "mpi/optional.h"

#include <array>
#include <string>

#include "model/mpi_products.h"
#include "mpi/calls.h"

namespace openimb::call {

#ifdef OPENIMB_PORTABLE

// A library has all of these calls or none (tests/test_wheel.py), so one call of each kind is enough.
bool has_large_counts() {
  return MPI_Send_c != nullptr && MPI_Type_contiguous_c != nullptr && MPI_Reduce_scatter_c != nullptr &&
         MPI_Bcast_init_c != nullptr && MPI_Neighbor_alltoallw_c != nullptr && MPI_Put_c != nullptr &&
         MPI_File_write_c != nullptr && MPI_File_read_ordered_begin_c != nullptr;
}

static std::string_view missing_reason(std::string_view name) {
#define OPENIMB_LOOK(call) \
  if (name == #call) return MPI_##call ? "" : "this MPI library has no MPI_" #call;
  OPENIMB_MPI_CALLS(OPENIMB_LOOK)
#undef OPENIMB_LOOK
  return {};
}

#else

bool has_large_counts() { return built_with_large_counts; }
static std::string_view missing_reason(std::string_view) { return {}; }

#endif

std::string_view unusable_reason(std::string_view call) {
  // Called before errors are caught, so it allocates nothing.
  static const struct Library {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    Library() { MPI_Get_library_version(text.data(), &length); }
  } library;
  const std::string_view version(library.text.data(), static_cast<std::size_t>(library.length));
  const std::string_view hang = hang_reason(call, version);
  return hang.empty() ? missing_reason(call) : hang;
}

}  // namespace openimb::call
