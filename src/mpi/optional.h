// Calls that the MPI library in use may lack. A program for a binary interface (OPENIMB_PORTABLE) runs with
// any library that has it: it refers to these calls weakly, so that it starts without them, and checks which
// exist. Other programs have the calls that their MPI had when they were built. Source: ELF gABI, "Symbol
// Table" (weak symbols).
#pragma once

#include <mpi.h>

#include <string_view>
#include <type_traits>

#include "plan/attributes.h"

namespace openimb::call {

/// The binary interface of this program, such as "MPICH ABI"; empty where it was built for one MPI.
#ifdef OPENIMB_PORTABLE
inline constexpr std::string_view binary_interface = OPENIMB_PORTABLE;
#else
inline constexpr std::string_view binary_interface = {};
#endif

/// Whether the library has every call with MPI_Count that a benchmark may use.
bool has_large_counts();

/// "this MPI library has no MPI_Ibcast"; "this MPI, Open MPI 5.0, hangs in ...", from
/// docs/known-mpi-issues.md; empty where the call can be used. Asks the library, which may be newer than
/// mpi.h. `call`: without "MPI_"; empty or in the list below.
std::string_view why_unusable(std::string_view call);

}  // namespace openimb::call

#ifdef OPENIMB_PORTABLE

// clang-format off
// MPI 3.0 and later, and files, which an MPI may be built without.
#define OPENIMB_OPTIONAL_CALLS(call) \
  call(Allgather_init) call(Allgatherv_init) call(Allreduce_init) call(Alltoall_init) call(Alltoallv_init) \
  call(Barrier_init) call(Bcast_init) call(Compare_and_swap) call(Fetch_and_op) call(File_close) \
  call(File_create_errhandler) call(File_delete) call(File_get_info) call(File_get_size) call(File_iread) \
  call(File_iread_at) call(File_iread_shared) call(File_iwrite) call(File_iwrite_at) \
  call(File_iwrite_shared) call(File_open) call(File_read) call(File_read_all) call(File_read_all_begin) \
  call(File_read_all_end) call(File_read_at) call(File_read_at_all) call(File_read_at_all_begin) \
  call(File_read_at_all_end) call(File_read_ordered) call(File_read_ordered_begin) \
  call(File_read_ordered_end) call(File_read_shared) call(File_set_errhandler) call(File_set_view) \
  call(File_sync) call(File_write) call(File_write_all) call(File_write_all_begin) call(File_write_all_end) \
  call(File_write_at) call(File_write_at_all) call(File_write_at_all_begin) call(File_write_at_all_end) \
  call(File_write_ordered) call(File_write_ordered_begin) call(File_write_ordered_end) \
  call(File_write_shared) call(Gather_init) call(Gatherv_init) call(Get_accumulate) call(Iallgather) \
  call(Iallgatherv) call(Iallreduce) call(Ialltoall) call(Ialltoallv) call(Ialltoallw) call(Ibarrier) \
  call(Ibcast) call(Iexscan) call(Igather) call(Igatherv) call(Ineighbor_allgather) \
  call(Ineighbor_allgatherv) call(Ineighbor_alltoall) call(Ineighbor_alltoallv) call(Ineighbor_alltoallw) \
  call(Ireduce) call(Ireduce_scatter) call(Iscan) call(Iscatter) call(Iscatterv) call(Mprobe) call(Mrecv) \
  call(Neighbor_allgather) call(Neighbor_allgatherv) call(Neighbor_alltoall) call(Neighbor_alltoallv) \
  call(Neighbor_alltoallw) call(Pready) call(Precv_init) call(Psend_init) call(Raccumulate) \
  call(Reduce_init) call(Reduce_scatter_init) call(Rget) call(Rget_accumulate) call(Rput) call(Scatter_init) \
  call(Scatterv_init) call(Session_create_errhandler) call(Session_finalize) call(Session_init) \
  call(T_cvar_get_index) call(T_cvar_get_info) call(T_cvar_get_num) call(T_cvar_handle_alloc) \
  call(T_cvar_handle_free) call(T_cvar_read) call(T_cvar_write) call(T_enum_get_info) \
  call(T_enum_get_item) call(T_finalize) call(T_init_thread) call(Win_detach) call(Win_shared_query) call(Win_sync)

// Those that have another form with MPI_Count. Source: MPI 4.0, section 2.5.8.
#define OPENIMB_LARGE_CALLS(large) \
  large(Accumulate) large(Allgather) large(Allgather_init) large(Allgatherv) large(Allgatherv_init) \
  large(Allreduce) large(Allreduce_init) large(Alltoall) large(Alltoall_init) large(Alltoallv) \
  large(Alltoallv_init) large(Alltoallw) large(Bcast) large(Bcast_init) large(Bsend) large(Buffer_attach) \
  large(Buffer_detach) large(Exscan) large(File_iread_at) large(File_iread) large(File_iread_shared) \
  large(File_iwrite_at) large(File_iwrite) large(File_iwrite_shared) large(File_read_all_begin) \
  large(File_read_all) large(File_read_at_all_begin) large(File_read_at_all) large(File_read_at) \
  large(File_read) large(File_read_ordered_begin) large(File_read_ordered) large(File_read_shared) \
  large(File_write_all_begin) large(File_write_all) large(File_write_at_all_begin) \
  large(File_write_at_all) large(File_write_at) large(File_write) large(File_write_ordered_begin) \
  large(File_write_ordered) large(File_write_shared) large(Gather) large(Gather_init) large(Gatherv) \
  large(Gatherv_init) large(Get_accumulate) large(Get) large(Iallgather) large(Iallgatherv) \
  large(Iallreduce) large(Ialltoall) large(Ialltoallv) large(Ialltoallw) large(Ibcast) large(Ibsend) \
  large(Iexscan) large(Igather) large(Igatherv) large(Ineighbor_allgather) large(Ineighbor_allgatherv) \
  large(Ineighbor_alltoall) large(Ineighbor_alltoallv) large(Ineighbor_alltoallw) large(Irecv) \
  large(Ireduce) large(Ireduce_scatter) large(Irsend) large(Iscan) large(Iscatter) large(Iscatterv) \
  large(Isend) large(Issend) large(Mrecv) large(Neighbor_allgather) large(Neighbor_allgatherv) \
  large(Neighbor_alltoall) large(Neighbor_alltoallv) large(Neighbor_alltoallw) large(Pack) \
  large(Pack_size) large(Put) large(Raccumulate) large(Recv) large(Recv_init) large(Reduce) \
  large(Reduce_init) large(Reduce_local) large(Reduce_scatter_block) large(Reduce_scatter) \
  large(Reduce_scatter_init) large(Rget_accumulate) large(Rget) large(Rput) large(Rsend) large(Scan) \
  large(Scatter) large(Scatter_init) large(Scatterv) large(Scatterv_init) large(Send) large(Send_init) \
  large(Ssend) large(Sendrecv) large(Sendrecv_replace) large(Type_contiguous) large(Type_vector) \
  large(Unpack)
// clang-format on

#ifdef OPENIMB_LARGE_COUNT_UNDECLARED
namespace openimb::call {

/// An argument of the form with MPI_Count, from that of the form with int and those around it: an int is a
/// count in front of a type, and a size in front of a position or at the end.
template <class Before, class Argument, class After>
struct LargeArgument {
  static constexpr bool counts =
      std::is_same_v<After, MPI_Datatype> || std::is_same_v<After, int*> || std::is_void_v<After>;
  using Type = std::conditional_t<std::is_same_v<Argument, int> && counts, MPI_Count, Argument>;
};
template <class Before, class After>
struct LargeArgument<Before, const int*, After> {  // counts, and then displacements
  using Type = std::conditional_t<std::is_same_v<Before, const int*>, const MPI_Aint*, const MPI_Count*>;
};
template <class Before, class After>
struct LargeArgument<Before, int*, After> {
  using Type = MPI_Count*;
};

template <class Done, class Before, class... Left>
struct LargeCall;
template <class... Done, class Before, class Argument, class After, class... Left>
struct LargeCall<int(Done...), Before, Argument, After, Left...>
    : LargeCall<int(Done..., typename LargeArgument<Before, Argument, After>::Type), Argument, After,
                Left...> {};
template <class... Done, class Before>
struct LargeCall<int(Done...), Before, void> {
  using Type = int(Done...);
};

/// The type of a call's form with MPI_Count.
template <class Call>
struct LargeForm;
template <class... Arguments>
struct LargeForm<int(Arguments...)> : LargeCall<int(), void, Arguments..., void> {};
template <>
struct LargeForm<decltype(MPI_Type_vector)> {
  using Type = int(MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*);
};

}  // namespace openimb::call
#endif

extern "C" {
#define OPENIMB_DECLARE(name) OPENIMB_WEAK decltype(MPI_##name) MPI_##name;
OPENIMB_OPTIONAL_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
#ifdef OPENIMB_LARGE_COUNT_UNDECLARED  // in this mpi.h, which may be older than the library
#define OPENIMB_DECLARE(name) \
  OPENIMB_WEAK openimb::call::LargeForm<decltype(MPI_##name)>::Type MPI_##name##_c;
#else
#define OPENIMB_DECLARE(name) OPENIMB_WEAK decltype(MPI_##name##_c) MPI_##name##_c;
#endif
OPENIMB_LARGE_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
}

#endif
