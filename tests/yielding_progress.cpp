// Interposed where there are more ranks than CPUs. A rank of MPICH that waits polls UCX without a pause, for the 4 ms until the kernel
// takes its CPU away; with this it gives the CPU away when there was nothing to do. Open MPI does so itself (mpi_yield_when_idle).
// With WAITING_RANKS_SLEEP, for tests beside others, waiting ranks sleep: a rank that only yields still gets its share of the CPUs.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>

extern "C" int sched_yield() noexcept {
  static const auto yield = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "sched_yield"));
  static const bool sleeps = std::getenv("WAITING_RANKS_SLEEP") != nullptr;
  thread_local unsigned waited = 0;
  if (!sleeps || ++waited % 16 != 0) return yield();
  const timespec pause{0, 20'000};
  return nanosleep(&pause, nullptr);
}

extern "C" unsigned ucp_worker_progress(void* worker) {
  static const auto next = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned done = next(worker);
  if (done == 0) sched_yield();
  return done;
}
