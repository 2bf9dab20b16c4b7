// Counts the parts that are marked ready and the sends in parts that are started; interposed by LD_PRELOAD.
#include <mpi.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace {
std::set<MPI_Request> sends;
long starts = 0;
std::mutex mutex;
std::map<std::thread::id, long> marks;  // by thread
}  // namespace

extern "C" {

int MPI_Psend_init(const void* data, int parts, MPI_Count count, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int rc = PMPI_Psend_init(const_cast<void*>(data), parts, count, type, to, tag, comm, info, request);
  sends.insert(*request);
  return rc;
}
int MPI_Start(MPI_Request* request) {
  starts += sends.count(*request) > 0 ? 1 : 0;
  return PMPI_Start(request);
}
int MPI_Pready(int part, MPI_Request request) {
  {
    const std::lock_guard lock(mutex);
    ++marks[std::this_thread::get_id()];
  }
  return PMPI_Pready(part, request);
}
int MPI_Finalize() {
  long all = 0;
  std::string by;
  for (const auto& [thread, some] : marks) {
    all += some;
    by += " " + std::to_string(some);
  }
  std::fprintf(stderr, "parts: %ld of %ld starts, by thread:%s\n", all, starts, by.c_str());
  return PMPI_Finalize();
}

}  // extern "C"
