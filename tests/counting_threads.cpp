// Interposed: whether threads call MPI although the thread level in force does not let them. At the end each
// rank adds a line "rank R counted N" to FAIL_LOG (inject.h) for calls that overlap with one of another
// thread; calls of a thread that did not call MPI_Init_thread are announced there at once. With SLOW_CLOCK=1
// MPI_Wtime takes 300 us, so that calls at once meet.
#include <mpi.h>
#include <pthread.h>

#include <atomic>

#include "inject.h"

namespace {

std::atomic<int> inside{0}, overlaps{0};
pthread_t first;
bool started = false;

struct Call {
  explicit Call(const char* name) {
    if (inside.fetch_add(1) > 0) ++overlaps;
    if (started && pthread_equal(pthread_self(), first) == 0) inject::announce(name);
  }
  ~Call() { inside.fetch_sub(1); }
};

[[gnu::destructor]] void at_exit() {
  if (started) inject::say_count(overlaps);
}

}  // namespace

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* granted) {
  first = pthread_self();
  const int code = PMPI_Init_thread(argc, argv, required, granted);
  started = true;
  return code;
}

double MPI_Wtime() {
  const Call call("MPI_Wtime");
  if (inject::number_in("SLOW_CLOCK", 0) != 0) {
    const timespec pause{0, 300000};
    nanosleep(&pause, nullptr);
  }
  return PMPI_Wtime();
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  const Call call("MPI_Comm_rank");
  return PMPI_Comm_rank(comm, rank);
}

int MPI_Sendrecv(const void* out, int outs, MPI_Datatype out_type, int to, int out_tag, void* in, int ins,
                 MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  const Call call("MPI_Sendrecv");
  return PMPI_Sendrecv(out, outs, out_type, to, out_tag, in, ins, in_type, from, in_tag, comm, status);
}

int MPI_Abort(MPI_Comm comm, int status) {
  const Call call("MPI_Abort");
  return PMPI_Abort(comm, status);
}

}  // extern "C"
