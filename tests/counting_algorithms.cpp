// Counts how an MPI carries out MPI_Allreduce, by the value that MPI_T last wrote to COUNT_VARIABLE (-1:
// none); interposed by LD_PRELOAD. Only calls of COUNT_ELEMENTS elements count. Open MPI: its own functions,
// one for each algorithm. MPICH over UCX: the messages that a call sends. Rank 0 prints a line for each value
// and event.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace {

int variable = -1, value = -1;
std::set<MPI_T_cvar_handle> handles;
bool inside = false;
std::map<std::pair<int, std::string>, long> counts;

void count(const char* what) {
  if (inside) ++counts[{value, what}];
}

int rank() {
  int mine = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &mine);
  return mine;
}

}  // namespace

extern "C" {

int MPI_T_cvar_get_index(const char* name, int* index) {
  const int rc = PMPI_T_cvar_get_index(name, index);
  const char* const wanted = std::getenv("COUNT_VARIABLE");
  if (rc == MPI_SUCCESS && wanted != nullptr && std::strcmp(name, wanted) == 0) variable = *index;
  return rc;
}

int MPI_T_cvar_handle_alloc(int index, void* object, MPI_T_cvar_handle* allocated, int* elements) {
  const int rc = PMPI_T_cvar_handle_alloc(index, object, allocated, elements);
  if (rc == MPI_SUCCESS && index == variable) handles.insert(*allocated);
  return rc;
}

int MPI_T_cvar_write(MPI_T_cvar_handle written, const void* data) {
  if (handles.count(written) > 0) std::memcpy(&value, data, sizeof value);
  return PMPI_T_cvar_write(written, data);
}

int MPI_Allreduce(const void* send, void* receive, int elements, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  const char* const wanted = std::getenv("COUNT_ELEMENTS");
  inside = wanted != nullptr && elements == std::atoi(wanted);
  count("calls");
  const int rc = PMPI_Allreduce(send, receive, elements, type, op, comm);
  inside = false;
  return rc;
}

int MPI_Finalize() {
  if (rank() == 0) {
    for (const auto& [key, times] : counts) {
      std::fprintf(stderr, "counted: %d %s %ld\n", key.first, key.second.c_str(), times);
    }
  }
  return PMPI_Finalize();
}

// More arguments than any of them has, handed on as they are.
#define COUNTED(function, what)                                                             \
  long function(long a, long b, long c, long d, long e, long f, long g, long h) {           \
    using Function = long(long, long, long, long, long, long, long, long);                  \
    static Function* const real = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, #function)); \
    count(what);                                                                            \
    return real(a, b, c, d, e, f, g, h);                                                    \
  }
COUNTED(ompi_coll_base_allreduce_intra_basic_linear, "basic_linear")
COUNTED(ompi_coll_base_allreduce_intra_nonoverlapping, "nonoverlapping")
COUNTED(ompi_coll_base_allreduce_intra_recursivedoubling, "recursive_doubling")
COUNTED(ompi_coll_base_allreduce_intra_redscat_allgather, "rabenseifner")
COUNTED(ompi_coll_base_allreduce_intra_ring, "ring")
COUNTED(ompi_coll_base_allreduce_intra_ring_segmented, "segmented_ring")
COUNTED(ucp_tag_send_nbx, "sends")
#undef COUNTED

}  // extern "C"
