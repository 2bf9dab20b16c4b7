// Interposed: on rank 1, the 20th MPI_Send or MPI_Pready of a thread other than the main one fails.
// FAIL_HOW=error: MPI's error handler is called; FAIL_HOW=memory: there is no memory.
#include <mpi.h>

#include <cstdlib>
#include <new>
#include <string>
#include <thread>

namespace {

const std::thread::id main_thread = std::this_thread::get_id();
thread_local int calls = 0;
MPI_Comm of_parts = MPI_COMM_NULL;

void fail_if_it_is_time(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  constexpr int failing = 20;
  if (rank == 1 && std::this_thread::get_id() != main_thread && ++calls == failing) {
    const char* const how = std::getenv("FAIL_HOW");
    if (how != nullptr && std::string(how) == "memory") throw std::bad_alloc();
    PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  }
}

}  // namespace

extern "C" int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  fail_if_it_is_time(comm);
  return PMPI_Send(data, count, type, to, tag, comm);
}

// An error of a request goes to the handler of its communicator, which has the program's.
extern "C" int MPI_Psend_init(const void* data, int parts, MPI_Count count, MPI_Datatype type, int to,
                              int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  of_parts = comm;
  return PMPI_Psend_init(const_cast<void*>(data), parts, count, type, to, tag, comm, info, request);
}
extern "C" int MPI_Pready(int part, MPI_Request request) {
  fail_if_it_is_time(of_parts);
  return PMPI_Pready(part, request);
}
