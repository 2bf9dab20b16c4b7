// Calls that the MPI library in use may lack. A program for a binary interface (OPENIMB_PORTABLE) runs with
// any library that has it: it refers to these calls weakly, so that it starts without them, and asks what
// there is. Other programs have what their MPI had when they were built. Source: ELF gABI, "Symbol Table"
// (weak symbols).
#pragma once

#include <mpi.h>

#include <string_view>

#include "plan/attributes.h"

namespace openimb::call {

/// Of this program, as "MPICH ABI"; empty where it was built for one MPI.
#ifdef OPENIMB_PORTABLE
inline constexpr std::string_view binary_interface = OPENIMB_PORTABLE;
#else
inline constexpr std::string_view binary_interface = {};
#endif

/// Whether there is every call with MPI_Count that a benchmark may use.
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
  call(Win_detach) call(Win_shared_query) call(Win_sync)

// MPI 4.0, section 2.5.8. Spelled out: the mpi.h of an interface may be older than the library.
#define OPENIMB_LARGE_CALLS(call) \
  call(Accumulate_c, (const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, \
       MPI_Op, MPI_Win)) \
  call(Allgather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm)) \
  call(Allgather_init_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm, \
       MPI_Info, MPI_Request*)) \
  call(Allgatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, MPI_Comm)) \
  call(Allgatherv_init_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Allreduce_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)) \
  call(Allreduce_init_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, \
       MPI_Request*)) \
  call(Alltoall_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm)) \
  call(Alltoall_init_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm, \
       MPI_Info, MPI_Request*)) \
  call(Alltoallv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const \
       MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm)) \
  call(Alltoallv_init_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const \
       MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Alltoallw_c, (const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*, const \
       MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm)) \
  call(Bcast_c, (void*, MPI_Count, MPI_Datatype, int, MPI_Comm)) \
  call(Bcast_init_c, (void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Bsend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)) \
  call(Buffer_attach_c, (void*, MPI_Count)) call(Buffer_detach_c, (void*, MPI_Count*)) \
  call(Exscan_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)) \
  call(File_iread_at_c, (MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_iread_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_iread_shared_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_iwrite_at_c, (MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_iwrite_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_iwrite_shared_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Request*)) \
  call(File_read_all_begin_c, (MPI_File, void*, MPI_Count, MPI_Datatype)) \
  call(File_read_all_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_read_at_all_begin_c, (MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype)) \
  call(File_read_at_all_c, (MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_read_at_c, (MPI_File, MPI_Offset, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_read_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_read_ordered_begin_c, (MPI_File, void*, MPI_Count, MPI_Datatype)) \
  call(File_read_ordered_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_read_shared_c, (MPI_File, void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_all_begin_c, (MPI_File, const void*, MPI_Count, MPI_Datatype)) \
  call(File_write_all_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_at_all_begin_c, (MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype)) \
  call(File_write_at_all_c, (MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_at_c, (MPI_File, MPI_Offset, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_ordered_begin_c, (MPI_File, const void*, MPI_Count, MPI_Datatype)) \
  call(File_write_ordered_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(File_write_shared_c, (MPI_File, const void*, MPI_Count, MPI_Datatype, MPI_Status*)) \
  call(Gather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm)) \
  call(Gather_init_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, \
       MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Gatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, int, MPI_Comm)) \
  call(Gatherv_init_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Get_accumulate_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, \
       MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win)) \
  call(Get_c, (void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win)) \
  call(Iallgather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm, \
       MPI_Request*)) \
  call(Iallgatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, MPI_Comm, MPI_Request*)) \
  call(Iallreduce_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)) \
  call(Ialltoall_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, MPI_Comm, \
       MPI_Request*)) \
  call(Ialltoallv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const \
       MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)) \
  call(Ialltoallw_c, (const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*, const \
       MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm, MPI_Request*)) \
  call(Ibcast_c, (void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Request*)) \
  call(Ibsend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Iexscan_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)) \
  call(Igather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm, \
       MPI_Request*)) \
  call(Igatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const MPI_Aint*, \
       MPI_Datatype, int, MPI_Comm, MPI_Request*)) \
  call(Ineighbor_allgather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, \
       MPI_Comm, MPI_Request*)) \
  call(Ineighbor_allgatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const \
       MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)) \
  call(Ineighbor_alltoall_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, \
       MPI_Comm, MPI_Request*)) \
  call(Ineighbor_alltoallv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const \
       MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Request*)) \
  call(Ineighbor_alltoallw_c, (const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*, \
       const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm, MPI_Request*)) \
  call(Irecv_c, (void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Ireduce_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Request*)) \
  call(Ireduce_scatter_c, (const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm, \
       MPI_Request*)) \
  call(Irsend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Iscan_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*)) \
  call(Iscatter_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm, \
       MPI_Request*)) \
  call(Iscatterv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count, \
       MPI_Datatype, int, MPI_Comm, MPI_Request*)) \
  call(Isend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Issend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Mrecv_c, (void*, MPI_Count, MPI_Datatype, MPI_Message*, MPI_Status*)) \
  call(Neighbor_allgather_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, \
       MPI_Comm)) \
  call(Neighbor_allgatherv_c, (const void*, MPI_Count, MPI_Datatype, void*, const MPI_Count*, const \
       MPI_Aint*, MPI_Datatype, MPI_Comm)) \
  call(Neighbor_alltoall_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, \
       MPI_Comm)) \
  call(Neighbor_alltoallv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, const \
       MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm)) \
  call(Neighbor_alltoallw_c, (const void*, const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, void*, \
       const MPI_Count*, const MPI_Aint*, const MPI_Datatype*, MPI_Comm)) \
  call(Pack_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Count*, MPI_Comm)) \
  call(Pack_size_c, (MPI_Count, MPI_Datatype, MPI_Comm, MPI_Count*)) \
  call(Put_c, (const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win)) \
  call(Raccumulate_c, (const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, \
       MPI_Op, MPI_Win, MPI_Request*)) \
  call(Recv_c, (void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)) \
  call(Recv_init_c, (void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Reduce_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm)) \
  call(Reduce_init_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info, \
       MPI_Request*)) \
  call(Reduce_local_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op)) \
  call(Reduce_scatter_block_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)) \
  call(Reduce_scatter_c, (const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm)) \
  call(Reduce_scatter_init_c, (const void*, void*, const MPI_Count*, MPI_Datatype, MPI_Op, MPI_Comm, \
       MPI_Info, MPI_Request*)) \
  call(Rget_accumulate_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, \
       MPI_Aint, MPI_Count, MPI_Datatype, MPI_Op, MPI_Win, MPI_Request*)) \
  call(Rget_c, (void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win, \
       MPI_Request*)) \
  call(Rput_c, (const void*, MPI_Count, MPI_Datatype, int, MPI_Aint, MPI_Count, MPI_Datatype, MPI_Win, \
       MPI_Request*)) \
  call(Rsend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)) \
  call(Scan_c, (const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)) \
  call(Scatter_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, MPI_Comm)) \
  call(Scatter_init_c, (const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype, int, \
       MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Scatterv_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count, \
       MPI_Datatype, int, MPI_Comm)) \
  call(Scatterv_init_c, (const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*, MPI_Count, \
       MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*)) \
  call(Send_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)) \
  call(Send_init_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*)) \
  call(Ssend_c, (const void*, MPI_Count, MPI_Datatype, int, int, MPI_Comm)) \
  call(Sendrecv_c, (const void*, MPI_Count, MPI_Datatype, int, int, void*, MPI_Count, MPI_Datatype, int, \
       int, MPI_Comm, MPI_Status*)) \
  call(Sendrecv_replace_c, (void*, MPI_Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*)) \
  call(Type_contiguous_c, (MPI_Count, MPI_Datatype, MPI_Datatype*)) \
  call(Type_vector_c, (MPI_Count, MPI_Count, MPI_Count, MPI_Datatype, MPI_Datatype*)) \
  call(Unpack_c, (const void*, MPI_Count, MPI_Count*, void*, MPI_Count, MPI_Datatype, MPI_Comm))
// clang-format on

extern "C" {
#define OPENIMB_DECLARE(name) OPENIMB_WEAK decltype(MPI_##name) MPI_##name;
OPENIMB_OPTIONAL_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
#define OPENIMB_DECLARE(name, arguments) OPENIMB_WEAK int MPI_##name arguments;
OPENIMB_LARGE_CALLS(OPENIMB_DECLARE)
#undef OPENIMB_DECLARE
}

#endif
