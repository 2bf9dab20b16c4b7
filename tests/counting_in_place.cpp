// Counts collectives under test and those among them that get MPI_IN_PLACE; interposed by LD_PRELOAD. The
// harness's own use MPI_DOUBLE, MPI_INT, MPI_CHAR and MPI_LONG_LONG.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <string>

namespace {

struct Calls {
  long all = 0, no_send = 0, no_receive = 0;
};
std::map<std::string, Calls> calls;

void count(const char* name, MPI_Datatype type, const void* send, const void* receive) {
  if (type == MPI_DOUBLE || type == MPI_INT || type == MPI_CHAR || type == MPI_LONG_LONG) return;
  Calls& found = calls[name];
  ++found.all;
  found.no_send += send == MPI_IN_PLACE ? 1 : 0;
  found.no_receive += receive == MPI_IN_PLACE ? 1 : 0;
}

}  // namespace

// The blocking, the nonblocking and the persistent call.
#define LIST(...) __VA_ARGS__
#define COUNTED(name, started, type, parameters, arguments)                \
  int MPI_##name(parameters) {                                             \
    count(#name, type, out, in);                                           \
    return PMPI_##name(arguments);                                         \
  }                                                                        \
  int MPI_##started(parameters, MPI_Request* request) {                    \
    count(#started, type, out, in);                                        \
    return PMPI_##started(arguments, request);                             \
  }                                                                        \
  int MPI_##name##_init(parameters, MPI_Info info, MPI_Request* request) { \
    count(#name "_init", type, out, in);                                   \
    return PMPI_##name##_init(arguments, info, request);                   \
  }

extern "C" {

COUNTED(Allgather, Iallgather, u,
        LIST(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm),
        LIST(out, n, t, in, m, u, comm))
COUNTED(Allgatherv, Iallgatherv, u,
        LIST(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[], MPI_Datatype u,
             MPI_Comm comm),
        LIST(out, n, t, in, m, at, u, comm))
COUNTED(Gather, Igather, t,
        LIST(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
             MPI_Comm comm),
        LIST(out, n, t, in, m, u, root, comm))
COUNTED(Gatherv, Igatherv, t,
        LIST(const void* out, int n, MPI_Datatype t, void* in, const int m[], const int at[], MPI_Datatype u,
             int root, MPI_Comm comm),
        LIST(out, n, t, in, m, at, u, root, comm))
COUNTED(Scatter, Iscatter, u,
        LIST(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, int root,
             MPI_Comm comm),
        LIST(out, n, t, in, m, u, root, comm))
COUNTED(Scatterv, Iscatterv, u,
        LIST(const void* out, const int n[], const int at[], MPI_Datatype t, void* in, int m, MPI_Datatype u,
             int root, MPI_Comm comm),
        LIST(out, n, at, t, in, m, u, root, comm))
COUNTED(Alltoall, Ialltoall, u,
        LIST(const void* out, int n, MPI_Datatype t, void* in, int m, MPI_Datatype u, MPI_Comm comm),
        LIST(out, n, t, in, m, u, comm))
COUNTED(Alltoallv, Ialltoallv, u,
        LIST(const void* out, const int n[], const int from[], MPI_Datatype t, void* in, const int m[],
             const int at[], MPI_Datatype u, MPI_Comm comm),
        LIST(out, n, from, t, in, m, at, u, comm))
COUNTED(Alltoallw, Ialltoallw, u[0],
        LIST(const void* out, const int n[], const int from[], const MPI_Datatype t[], void* in,
             const int m[], const int at[], const MPI_Datatype u[], MPI_Comm comm),
        LIST(out, n, from, t, in, m, at, u, comm))
COUNTED(Reduce, Ireduce, t,
        LIST(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
        LIST(out, in, n, t, op, root, comm))
COUNTED(Reduce_scatter, Ireduce_scatter, t,
        LIST(const void* out, void* in, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        LIST(out, in, n, t, op, comm))
COUNTED(Allreduce, Iallreduce, t,
        LIST(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        LIST(out, in, n, t, op, comm))
COUNTED(Scan, Iscan, t, LIST(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        LIST(out, in, n, t, op, comm))
COUNTED(Exscan, Iexscan, t, LIST(const void* out, void* in, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
        LIST(out, in, n, t, op, comm))

int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string lines;
  for (const auto& [name, found] : calls) {
    lines += "in place: " + std::to_string(rank) + " " + name + " " + std::to_string(found.all) + " " +
             std::to_string(found.no_send) + " " + std::to_string(found.no_receive) + "\n";
  }
  std::fputs(lines.c_str(), stderr);
  return PMPI_Finalize();
}

}  // extern "C"
