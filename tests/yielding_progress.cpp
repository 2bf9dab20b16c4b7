// Interposed where there are more ranks than CPUs. A rank of MPICH that waits polls UCX without a pause, for
// the 4 ms until the kernel takes its CPU away; with this it gives the CPU away when there was nothing to do.
// Open MPI does so itself (mpi_yield_when_idle), as do threads of both that wait for a lock.
//
// With WAITING_RANKS_SLEEP, for tests beside others, ranks that wait sleep instead. A rank that yields gets
// its CPU back only when every process that computes has used its share: beside compilers, a launch of Open
// MPI on 5 ranks takes 50 to 110 s if its ranks yield, and 5 s if they sleep.
#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// The number of UCX polls in a row that find nothing before MPICH's rank sleeps. With 64, every benchmark on
// 1 to 5 ranks takes 1.9 times as much CPU time.
constexpr unsigned patience = 4;

bool ranks_sleep() {
  static const bool sleep = std::getenv("WAITING_RANKS_SLEEP") != nullptr;
  return sleep;
}

void sleep_briefly() {
  const timespec pause{0, 20'000};
  nanosleep(&pause, nullptr);
}

}  // namespace

extern "C" int sched_yield() {
  if (!ranks_sleep()) return static_cast<int>(syscall(SYS_sched_yield));
  sleep_briefly();
  return 0;
}

extern "C" unsigned ucp_worker_progress(void* worker) {
  static const auto next = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  thread_local unsigned idle_polls = 0;
  const unsigned done = next(worker);
  idle_polls = done == 0 ? idle_polls + 1 : 0;
  if (done == 0 && (!ranks_sleep() || idle_polls % patience == 0)) sched_yield();
  return done;
}
