#include "system/threads.h"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace openimb::system {

void block_signals_during(const std::function<void()>& make) {
  struct SignalBlock {
    sigset_t before{};
    SignalBlock() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, &before);
    }
    ~SignalBlock() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  };
  const SignalBlock blocked;
  make();
}

#ifdef __linux__
// The kernel refuses sets that are smaller than its own, and one cpu_set_t has only 1,024 CPUs, so the set
// grows.
std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> set(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (std::size_t cpu = 0; cpu < 8 * bytes; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(static_cast<int>(cpu));
    }
    break;
  }
  return cpus;
}

bool pin_this_thread(int cpu) {
  const auto number = static_cast<std::size_t>(cpu);
  std::vector<cpu_set_t> set(number / CPU_SETSIZE + 1);
  const std::size_t bytes = set.size() * sizeof(cpu_set_t);
  CPU_SET_S(number, bytes, set.data());
  return sched_setaffinity(0, bytes, set.data()) == 0;
}
#else
std::vector<int> usable_cpus() { return {}; }
bool pin_this_thread(int) { return false; }
#endif

}  // namespace openimb::system
