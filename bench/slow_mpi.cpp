// An MPI whose every iteration takes a known share longer: between two repetitions it waits for
// SLOW_MPI_SHARE of the time that the repetition before it took without such a wait; where that is too little
// for a clock, every 16 repetitions for those together, all ranks behind the same one. Loaded before the MPI
// library (LD_PRELOAD), it is what the companion's verdicts are measured against: a change of which the size
// is known.
//
// An iteration ends with the call after which a rank begins anew: the receive of a process that sent before
// (the first process of PingPong; its partner answers without delay, so that the pair is delayed once), Wait
// and Waitall, Sendrecv, and each collective.
#include <mpi.h>

#include <cstdlib>
#include <ctime>

namespace {

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double share() {
  const char* text = std::getenv("SLOW_MPI_SHARE");
  return text != nullptr ? std::strtod(text, nullptr) : 0.0;
}

constexpr double long_enough = 1e-6;  // 5 % of it is what reading the clock twice takes
const double wanted = share();
double ended = 0.0;     // when the last iteration and the wait behind it were over
double owed = 0.0;      // how much longer they should have taken
unsigned number = 0;    // of the iteration
bool sent = false;      // MPI_Send since then
bool received = false;  // MPI_Recv before any MPI_Send: the partner of PingPong

int end_of_iteration(int code) {
  const double end = now();
  // A pause between two tables is not an iteration.
  const double took = end - ended < 0.1 ? end - ended : 0.0;
  owed += wanted * took;
  ended = end;
  if (++number % 16 == 0 || took > long_enough) {
    while (ended < end + owed) ended = now();
    owed -= ended - end;
  }
  sent = false;
  received = false;
  return code;
}

}  // namespace

extern "C" {

int MPI_Send(const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  sent = !received;
  return PMPI_Send(b, n, t, to, tag, c);
}
int MPI_Recv(void* b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status* s) {
  const int code = PMPI_Recv(b, n, t, from, tag, c, s);
  if (sent) {
    return end_of_iteration(code);
  }
  received = true;
  return code;
}
int MPI_Wait(MPI_Request* r, MPI_Status* s) { return end_of_iteration(PMPI_Wait(r, s)); }
int MPI_Waitall(int n, MPI_Request* r, MPI_Status* s) { return end_of_iteration(PMPI_Waitall(n, r, s)); }
int MPI_Sendrecv(const void* a, int n, MPI_Datatype t, int to, int tag, void* b, int m, MPI_Datatype u,
                 int from, int tag2, MPI_Comm c, MPI_Status* s) {
  return end_of_iteration(PMPI_Sendrecv(a, n, t, to, tag, b, m, u, from, tag2, c, s));
}
int MPI_Barrier(MPI_Comm c) { return end_of_iteration(PMPI_Barrier(c)); }
int MPI_Bcast(void* b, int n, MPI_Datatype t, int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Bcast(b, n, t, r, c));
}
int MPI_Allreduce(const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  return end_of_iteration(PMPI_Allreduce(a, b, n, t, o, c));
}
int MPI_Reduce(const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Reduce(a, b, n, t, o, r, c));
}
int MPI_Reduce_scatter(const void* a, void* b, const int n[], MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  return end_of_iteration(PMPI_Reduce_scatter(a, b, n, t, o, c));
}
int MPI_Reduce_scatter_block(const void* a, void* b, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c) {
  return end_of_iteration(PMPI_Reduce_scatter_block(a, b, n, t, o, c));
}
int MPI_Allgather(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c) {
  return end_of_iteration(PMPI_Allgather(a, n, t, b, m, u, c));
}
int MPI_Allgatherv(const void* a, int n, MPI_Datatype t, void* b, const int m[], const int d[],
                   MPI_Datatype u, MPI_Comm c) {
  return end_of_iteration(PMPI_Allgatherv(a, n, t, b, m, d, u, c));
}
int MPI_Gather(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Gather(a, n, t, b, m, u, r, c));
}
int MPI_Gatherv(const void* a, int n, MPI_Datatype t, void* b, const int m[], const int d[], MPI_Datatype u,
                int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Gatherv(a, n, t, b, m, d, u, r, c));
}
int MPI_Scatter(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Scatter(a, n, t, b, m, u, r, c));
}
int MPI_Scatterv(const void* a, const int n[], const int d[], MPI_Datatype t, void* b, int m, MPI_Datatype u,
                 int r, MPI_Comm c) {
  return end_of_iteration(PMPI_Scatterv(a, n, d, t, b, m, u, r, c));
}
int MPI_Alltoall(const void* a, int n, MPI_Datatype t, void* b, int m, MPI_Datatype u, MPI_Comm c) {
  return end_of_iteration(PMPI_Alltoall(a, n, t, b, m, u, c));
}
int MPI_Alltoallv(const void* a, const int n[], const int d[], MPI_Datatype t, void* b, const int m[],
                  const int e[], MPI_Datatype u, MPI_Comm c) {
  return end_of_iteration(PMPI_Alltoallv(a, n, d, t, b, m, e, u, c));
}
}
