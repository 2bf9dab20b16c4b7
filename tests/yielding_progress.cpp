// Interposed where there are more ranks than CPUs: a rank of MPICH that waits polls UCX without a pause, for
// the 4 ms until the kernel takes its CPU away. With this it gives the CPU away when there was nothing to do.
#include <dlfcn.h>
#include <sched.h>

extern "C" unsigned ucp_worker_progress(void* worker) {
  static const auto next = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  const unsigned done = next(worker);
  if (done == 0) sched_yield();
  return done;
}
