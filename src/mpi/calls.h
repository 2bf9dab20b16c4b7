// The MPI calls under test, each with int counts and, if the MPI has them, with MPI_Count. A pattern is
// written once and compiles to either. Return codes are ignored, because the error handler (mpi/errors.h)
// ends the job with a message. Source: MPI 4.0, section 2.5.8 (large counts).
#pragma once

#include <mpi.h>

#include <string_view>
#include <type_traits>

#include "model/spec.h"
#include "mpi/optional.h"

namespace openimb::call {

#ifdef OPENIMB_LARGE_COUNT
using LargeCount = MPI_Count;
inline constexpr bool built_with_large_counts = true;
#else
inline constexpr bool built_with_large_counts = false;
#endif

/// Type of the displacements of v-collectives: int with int counts, MPI_Aint with MPI_Count.
template <class Count>
using Displacement = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;

/// Why a benchmark cannot run; empty if it can.
#ifdef OPENIMB_SMPI  // declares these calls, and aborts in them
inline constexpr std::string_view no_neighborhoods_reason = "the simulator has no neighborhood collectives";
inline constexpr std::string_view no_matched_probe_reason = "the simulator has no matched probe";
#else
inline constexpr std::string_view no_neighborhoods_reason = {};
inline constexpr std::string_view no_matched_probe_reason = {};
#endif

using Type = MPI_Datatype;
using Comm = MPI_Comm;
using Op = MPI_Op;
using Win = MPI_Win;
using File = MPI_File;

// Each call has one definition, in which `Count` selects the int or the _c form. The other branch is not
// instantiated.
#ifdef OPENIMB_LARGE_COUNT
#define OPENIMB_CALL(name, ...)               \
  if constexpr (std::is_same_v<Count, int>) { \
    MPI_##name(__VA_ARGS__);                  \
  } else {                                    \
    MPI_##name##_c(__VA_ARGS__);              \
  }
#else
#define OPENIMB_CALL(name, ...) MPI_##name(__VA_ARGS__);
#endif

/// Last argument of a collective that creates a persistent request.
struct PersistentInit {
  MPI_Request* request;
};
template <class... Request>
inline constexpr bool are_persistent = (std::is_same_v<Request, PersistentInit> && ...);

/// Why a benchmark of persistent collectives cannot run; empty if it can. Source: MPI 4.0, section 6.13.
#ifdef OPENIMB_PERSISTENT_COLLECTIVES
inline constexpr std::string_view no_persistent_collectives_reason = {};
#else
inline constexpr std::string_view no_persistent_collectives_reason = "this MPI has no persistent collectives";
#endif

/// Why a benchmark of sessions cannot run; empty if it can. Source: MPI 4.0, section 11.3.
#ifdef OPENIMB_SESSIONS
inline constexpr std::string_view no_sessions_reason = {};
#else
inline constexpr std::string_view no_sessions_reason = "this MPI has no sessions";
#endif

/// Why a benchmark of partitioned communication cannot run; empty if it can. Source: MPI 4.0, chapter 4.
#ifdef OPENIMB_PARTITIONED
inline constexpr std::string_view no_partitions_reason = {};
#else
inline constexpr std::string_view no_partitions_reason = "this MPI has no partitioned communication";
#endif

// Makes a collective call. Without a further argument it is the blocking call, with a request the nonblocking
// call, with a PersistentInit the call that creates a persistent request. An MPI may lack the last one: its
// name is looked up only if it is used.
#define OPENIMB_COLLECTIVE(name, nonblocking_name, ...)                       \
  if constexpr (sizeof...(request) == 0) {                                    \
    OPENIMB_CALL(name, __VA_ARGS__)                                           \
  } else if constexpr (are_persistent<Request...>) {                          \
    OPENIMB_CALL(name##_init, __VA_ARGS__, MPI_INFO_NULL, request.request...) \
  } else {                                                                    \
    OPENIMB_CALL(nonblocking_name, __VA_ARGS__, request...)                   \
  }

template <SendMode mode = SendMode::standard, class Count>
void send(const void* data, Count count, Type type, int to, int tag, Comm comm) {
  if constexpr (mode == SendMode::synchronous) {
    OPENIMB_CALL(Ssend, data, count, type, to, tag, comm)
  } else if constexpr (mode == SendMode::buffered) {
    OPENIMB_CALL(Bsend, data, count, type, to, tag, comm)
  } else {
    OPENIMB_CALL(Send, data, count, type, to, tag, comm)
  }
}
template <class Count>
void recv(void* data, Count count, Type type, int from, int tag, Comm comm) {
  OPENIMB_CALL(Recv, data, count, type, from, tag, comm, MPI_STATUS_IGNORE)
}
template <class Count>
void mrecv(void* data, Count count, Type type, MPI_Message* message) {
  OPENIMB_CALL(Mrecv, data, count, type, message, MPI_STATUS_IGNORE)
}
template <SendMode mode = SendMode::standard, class Count>
void isend(const void* data, Count count, Type type, int to, int tag, Comm comm, MPI_Request* request) {
  if constexpr (mode == SendMode::synchronous) {
    OPENIMB_CALL(Issend, data, count, type, to, tag, comm, request)
  } else if constexpr (mode == SendMode::buffered) {
    OPENIMB_CALL(Ibsend, data, count, type, to, tag, comm, request)
  } else {
    OPENIMB_CALL(Isend, data, count, type, to, tag, comm, request)
  }
}
template <class Count>
void irecv(void* data, Count count, Type type, int from, int tag, Comm comm, MPI_Request* request) {
  OPENIMB_CALL(Irecv, data, count, type, from, tag, comm, request)
}
template <class Count>
void sendrecv(const void* out, void* in, Count count, Type type, int to, int from, int tag, Comm comm) {
  OPENIMB_CALL(Sendrecv, out, count, type, to, tag, in, count, type, from, tag, comm, MPI_STATUS_IGNORE)
}
template <class Count>
void sendrecv_replace(void* data, Count count, Type type, int to, int from, int tag, Comm comm) {
  OPENIMB_CALL(Sendrecv_replace, data, count, type, to, tag, from, tag, comm, MPI_STATUS_IGNORE)
}
template <class Count>
void send_init(const void* data, Count count, Type type, int to, int tag, Comm comm, MPI_Request* request) {
  OPENIMB_CALL(Send_init, data, count, type, to, tag, comm, request)
}
template <class Count>
void recv_init(void* data, Count count, Type type, int from, int tag, Comm comm, MPI_Request* request) {
  OPENIMB_CALL(Recv_init, data, count, type, from, tag, comm, request)
}
/// A message of `count` parts of `elements` elements each. The calls have no _c form.
struct Parts {
  int count;
  MPI_Count elements;
  Type type;
  Comm comm;
};
#ifdef OPENIMB_PARTITIONED
inline void psend_init(const void* data, const Parts& parts, int to, int tag, MPI_Request* request) {
  MPI_Psend_init(const_cast<void*>(data), parts.count, parts.elements, parts.type, to, tag, parts.comm,
                 MPI_INFO_NULL, request);
}
inline void precv_init(void* data, const Parts& parts, int from, int tag, MPI_Request* request) {
  MPI_Precv_init(data, parts.count, parts.elements, parts.type, from, tag, parts.comm, MPI_INFO_NULL,
                 request);
}
inline void pready(int part, MPI_Request request) { MPI_Pready(part, request); }
#else
void psend_init(const void* data, const Parts& parts, int to, int tag, MPI_Request* request);
void precv_init(void* data, const Parts& parts, int from, int tag, MPI_Request* request);
inline void pready(int, MPI_Request) {}  // without partitions, threads have nothing to mark
#endif
template <class Count, class... Request>
void bcast(void* data, Count count, Type type, int root, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Bcast, Ibcast, data, count, type, root, comm)
}
template <class Count, class... Request>
void allgather(const void* out, void* in, Count count, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Allgather, Iallgather, out, count, type, in, count, type, comm)
}
template <class Count, class... Request>
void allgatherv(const void* out, Count count, void* in, const Count* counts,
                const Displacement<Count>* displacements, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Allgatherv, Iallgatherv, out, count, type, in, counts, displacements, type, comm)
}
template <class Count, class... Request>
void scatter(const void* out, void* in, Count count, Type type, int root, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Scatter, Iscatter, out, count, type, in, count, type, root, comm)
}
template <class Count, class... Request>
void scatterv(const void* out, const Count* counts, const Displacement<Count>* displacements, void* in,
              Count count, Type type, int root, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Scatterv, Iscatterv, out, counts, displacements, type, in, count, type, root, comm)
}
template <class Count, class... Request>
void gather(const void* out, void* in, Count count, Type type, int root, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Gather, Igather, out, count, type, in, count, type, root, comm)
}
template <class Count, class... Request>
void gatherv(const void* out, Count count, void* in, const Count* counts,
             const Displacement<Count>* displacements, Type type, int root, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Gatherv, Igatherv, out, count, type, in, counts, displacements, type, root, comm)
}
template <class Count, class... Request>
void alltoall(const void* out, void* in, Count count, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Alltoall, Ialltoall, out, count, type, in, count, type, comm)
}
template <class Count, class... Request>
void alltoallv(const void* out, void* in, const Count* counts, const Displacement<Count>* displacements,
               Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Alltoallv, Ialltoallv, out, counts, displacements, type, in, counts, displacements, type,
                     comm)
}
template <class Count, class... Request>
void alltoallw(const void* out, void* in, const Count* counts, const Displacement<Count>* displacements,
               const Type* types, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Alltoallw, Ialltoallw, out, counts, displacements, types, in, counts, displacements,
                     types, comm)
}
template <class Count, class... Request>
void neighbor_allgather(const void* out, void* in, Count count, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, out, count, type, in, count, type, comm)
}
template <class Count, class... Request>
void neighbor_allgatherv(const void* out, Count count, void* in, const Count* counts,
                         const Displacement<Count>* displacements, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, out, count, type, in, counts, displacements,
                     type, comm)
}
template <class Count, class... Request>
void neighbor_alltoall(const void* out, void* in, Count count, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, out, count, type, in, count, type, comm)
}
template <class Count, class... Request>
void neighbor_alltoallv(const void* out, void* in, const Count* counts,
                        const Displacement<Count>* displacements, Type type, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, displacements, type, in, counts,
                     displacements, type, comm)
}
/// Displacements are in bytes. Their type is MPI_Aint with both types of count.
template <class Count, class... Request>
void neighbor_alltoallw(const void* out, void* in, const Count* counts, const MPI_Aint* displacements,
                        const Type* types, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, displacements, types, in, counts,
                     displacements, types, comm)
}
template <class Count, class... Request>
void scan(const void* out, void* in, Count count, Type type, Op op, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Scan, Iscan, out, in, count, type, op, comm)
}
template <class Count, class... Request>
void exscan(const void* out, void* in, Count count, Type type, Op op, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Exscan, Iexscan, out, in, count, type, op, comm)
}
template <class Count, class... Request>
void reduce(const void* out, void* in, Count count, Type type, Op op, int root, Comm comm,
            Request... request) {
  OPENIMB_COLLECTIVE(Reduce, Ireduce, out, in, count, type, op, root, comm)
}
template <class Count, class... Request>
void allreduce(const void* out, void* in, Count count, Type type, Op op, Comm comm, Request... request) {
  OPENIMB_COLLECTIVE(Allreduce, Iallreduce, out, in, count, type, op, comm)
}
template <class Count, class... Request>
void reduce_scatter(const void* out, void* in, const Count* counts, Type type, Op op, Comm comm,
                    Request... request) {
  OPENIMB_COLLECTIVE(Reduce_scatter, Ireduce_scatter, out, in, counts, type, op, comm)
}
template <class Count>
void reduce_scatter_block(const void* out, void* in, Count count, Type type, Op op, Comm comm) {
  OPENIMB_CALL(Reduce_scatter_block, out, in, count, type, op, comm)
}
template <class Count>
void reduce_local(const void* in, void* inout, Count count, Type type, Op op) {
  OPENIMB_CALL(Reduce_local, in, inout, count, type, op)
}
template <class... Request>
void barrier(Comm comm, Request... request) {
  if constexpr (sizeof...(request) == 0) {
    MPI_Barrier(comm);
  } else if constexpr (are_persistent<Request...>) {
    MPI_Barrier_init(comm, MPI_INFO_NULL, request.request...);
  } else {
    MPI_Ibarrier(comm, request...);
  }
}
// Makes a one-sided call. A request after the call's own arguments selects the form with a request.
#define OPENIMB_TRANSFER(name, name_with_request, ...)       \
  if constexpr (sizeof...(request) == 0) {                   \
    OPENIMB_CALL(name, __VA_ARGS__)                          \
  } else {                                                   \
    OPENIMB_CALL(name_with_request, __VA_ARGS__, request...) \
  }
template <class Count, class... Request>
void put(const void* out, Count count, Type type, int target, MPI_Aint displacement, Win win,
         Request... request) {
  OPENIMB_TRANSFER(Put, Rput, out, count, type, target, displacement, count, type, win)
}
template <class Count, class... Request>
void get(void* in, Count count, Type type, int target, MPI_Aint displacement, Win win, Request... request) {
  OPENIMB_TRANSFER(Get, Rget, in, count, type, target, displacement, count, type, win)
}
template <class Count, class... Request>
void accumulate(const void* out, Count count, Type type, int target, MPI_Aint displacement, Op op, Win win,
                Request... request) {
  OPENIMB_TRANSFER(Accumulate, Raccumulate, out, count, type, target, displacement, count, type, op, win)
}
template <class Count, class... Request>
void get_accumulate(const void* out, void* in, Count count, Type type, int target, MPI_Aint displacement,
                    Op op, Win win, Request... request) {
  OPENIMB_TRANSFER(Get_accumulate, Rget_accumulate, out, count, type, in, count, type, target, displacement,
                   count, type, op, win)
}

/// Why a one-sided call with a request cannot be used; empty if it can.
constexpr std::string_view no_request_reason([[maybe_unused]] std::string_view call) {
#ifdef OPENIMB_SMPI
  if (call == "Rget_accumulate") return "the simulator crashes in MPI_Rget_accumulate";
#endif
  return {};
}

// The calls that write and read a file. Each also exists as a start and a finish, between which the caller
// computes. The offset is in bytes, and only calls with an explicit offset use it. A split collective call
// has no request, because a process can have only one active on a file. Source: MPI 3.1, 13.4.
#define OPENIMB_FILE_CALLS(Name, suffix, ...)                                                             \
  struct Name {                                                                                           \
    template <class Count>                                                                                \
    static void write(File file, [[maybe_unused]] MPI_Offset offset, const void* data, Count count,       \
                      Type type) {                                                                        \
      OPENIMB_CALL(File_write##suffix, __VA_ARGS__, data, count, type, MPI_STATUS_IGNORE)                 \
    }                                                                                                     \
    template <class Count>                                                                                \
    static void read(File file, [[maybe_unused]] MPI_Offset offset, void* data, Count count, Type type) { \
      OPENIMB_CALL(File_read##suffix, __VA_ARGS__, data, count, type, MPI_STATUS_IGNORE)                  \
    }
#define OPENIMB_FILE_REQUESTS(suffix, ...)                                                                  \
  template <class Count>                                                                                    \
  static void start_write(File file, [[maybe_unused]] MPI_Offset offset, const void* data, Count count,     \
                          Type type, MPI_Request* request) {                                                \
    OPENIMB_CALL(File_iwrite##suffix, __VA_ARGS__, data, count, type, request)                              \
  }                                                                                                         \
  template <class Count>                                                                                    \
  static void start_read(File file, [[maybe_unused]] MPI_Offset offset, void* data, Count count, Type type, \
                         MPI_Request* request) {                                                            \
    OPENIMB_CALL(File_iread##suffix, __VA_ARGS__, data, count, type, request)                               \
  }                                                                                                         \
  static void finish_write(File, const void*, MPI_Request* request) {                                       \
    MPI_Wait(request, MPI_STATUS_IGNORE);                                                                   \
  }                                                                                                         \
  static void finish_read(File, void*, MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); }      \
  }                                                                                                         \
  ;
#define OPENIMB_FILE_SPLIT(suffix, ...)                                                                     \
  template <class Count>                                                                                    \
  static void start_write(File file, [[maybe_unused]] MPI_Offset offset, const void* data, Count count,     \
                          Type type, MPI_Request* request) {                                                \
    *request = MPI_REQUEST_NULL;                                                                            \
    OPENIMB_CALL(File_write##suffix##_begin, __VA_ARGS__, data, count, type)                                \
  }                                                                                                         \
  template <class Count>                                                                                    \
  static void start_read(File file, [[maybe_unused]] MPI_Offset offset, void* data, Count count, Type type, \
                         MPI_Request* request) {                                                            \
    *request = MPI_REQUEST_NULL;                                                                            \
    OPENIMB_CALL(File_read##suffix##_begin, __VA_ARGS__, data, count, type)                                 \
  }                                                                                                         \
  static void finish_write(File file, const void* data, MPI_Request*) {                                     \
    MPI_File_write##suffix##_end(file, data, MPI_STATUS_IGNORE);                                            \
  }                                                                                                         \
  static void finish_read(File file, void* data, MPI_Request*) {                                            \
    MPI_File_read##suffix##_end(file, data, MPI_STATUS_IGNORE);                                             \
  }                                                                                                         \
  }                                                                                                         \
  ;

// clang-format off
OPENIMB_FILE_CALLS(IndividualPointerCalls, , file) OPENIMB_FILE_REQUESTS(, file)
OPENIMB_FILE_CALLS(OffsetCalls, _at, file, offset) OPENIMB_FILE_REQUESTS(_at, file, offset)
OPENIMB_FILE_CALLS(SharedPointerCalls, _shared, file) OPENIMB_FILE_REQUESTS(_shared, file)
OPENIMB_FILE_CALLS(CollectiveIndividualCalls, _all, file) OPENIMB_FILE_SPLIT(_all, file)
OPENIMB_FILE_CALLS(CollectiveOffsetCalls, _at_all, file, offset) OPENIMB_FILE_SPLIT(_at_all, file, offset)
OPENIMB_FILE_CALLS(OrderedCalls, _ordered, file) OPENIMB_FILE_SPLIT(_ordered, file)
// clang-format on

#undef OPENIMB_FILE_CALLS
#undef OPENIMB_FILE_REQUESTS
#undef OPENIMB_FILE_SPLIT
#undef OPENIMB_COLLECTIVE
#undef OPENIMB_CALL

}  // namespace openimb::call
