// An MPI that finds receives which share memory while both are pending: erroneous, MPI 4.1, section 3.7. Each
// such receive adds a line to FAIL_LOG (inject.h), and a rank adds the number of its receives when it ends.
#include <mpi.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "inject.h"

namespace {

struct Pending {
  MPI_Request request;
  const char* begin;
  const char* end;
};
std::mutex mutex;
std::vector<Pending> pending;
int receives = 0;

void completed(int count, const MPI_Request* requests) {
  const std::lock_guard lock(mutex);
  const auto is_one = [&](const Pending& one) {
    return std::find(requests, requests + count, one.request) != requests + count;
  };
  pending.erase(std::remove_if(pending.begin(), pending.end(), is_one), pending.end());
}

}  // namespace

extern "C" {

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const int code = PMPI_Irecv(data, count, type, from, tag, comm, request);
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  const char* const begin = static_cast<const char*>(data);
  const Pending added{*request, begin, begin + count * extent};
  const std::lock_guard lock(mutex);
  ++receives;
  if (added.begin == added.end || from == MPI_PROC_NULL) return code;
  if (std::any_of(pending.begin(), pending.end(),
                  [&](const Pending& one) { return one.begin < added.end && added.begin < one.end; })) {
    inject::announce("a receive shares memory with a pending one");
  }
  pending.push_back(added);
  return code;
}

// Before the call: it sets the requests to MPI_REQUEST_NULL.
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  completed(1, request);
  return PMPI_Wait(request, status);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  completed(count, requests);
  return PMPI_Waitall(count, requests, statuses);
}

int MPI_Finalize() {
  inject::say_count(receives);
  return PMPI_Finalize();
}

}  // extern "C"
