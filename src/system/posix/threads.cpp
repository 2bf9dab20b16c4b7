#include "system/threads.h"

#include <pthread.h>
#include <sched.h>

#include <csignal>

namespace openimb::system {

void without_signals(const std::function<void()>& make) {
  struct Blocked {
    sigset_t before{};
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const Blocked blocked;
  make();
}

#ifdef __linux__
std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

bool pin_this_thread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}
#else
std::vector<int> usable_cpus() { return {}; }
bool pin_this_thread(int) { return false; }
#endif

}  // namespace openimb::system
