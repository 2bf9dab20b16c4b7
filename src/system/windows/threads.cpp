#include "system/threads.h"

#include <windows.h>

namespace openimb::system {

// Handlers of console events have a thread of their own.
void without_signals(const std::function<void()>& make) { make(); }

std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  DWORD_PTR process = 0, all = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &all) == 0) return cpus;
  for (int cpu = 0; cpu < static_cast<int>(8 * sizeof process); ++cpu) {
    if ((process >> cpu & 1) != 0) cpus.push_back(cpu);
  }
  return cpus;
}

bool pin_this_thread(int cpu) { return SetThreadAffinityMask(GetCurrentThread(), DWORD_PTR{1} << cpu) != 0; }

}  // namespace openimb::system
