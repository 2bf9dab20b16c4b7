// Interposed where there are more ranks than CPUs. A rank of MPICH that waits polls UCX without a pause, for
// the 4 ms until the kernel takes its CPU away; with this it gives the CPU away when there was nothing to do.
// Open MPI does so itself (mpi_yield_when_idle), as do threads of both that wait for a lock. With
// WAITING_RANKS_SLEEP, for tests beside others, what waits sleeps: what only yields still gets its share of
// the CPUs.
#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// Of so many polls in sequence that found nothing, or so many yields, the last one sleeps. With 64, every
// benchmark on 1 to 5 ranks takes 1.9 times as much CPU time with MPICH.
constexpr unsigned patience = 4;

void give_the_cpu_away(unsigned idle_polls) {
  static const bool sleeps = std::getenv("WAITING_RANKS_SLEEP") != nullptr;
  if (!sleeps || idle_polls % patience != 0) {
    syscall(SYS_sched_yield);
    return;
  }
  const timespec pause{0, 20'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

extern "C" unsigned ucp_worker_progress(void* worker) {
  static const auto next = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  thread_local unsigned idle_polls = 0;
  const unsigned done = next(worker);
  idle_polls = done == 0 ? idle_polls + 1 : 0;
  if (done == 0) give_the_cpu_away(idle_polls);
  return done;
}

extern "C" int sched_yield() {
  thread_local unsigned yields = 0;
  give_the_cpu_away(++yields);
  return 0;
}
