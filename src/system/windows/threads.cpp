#include "system/threads.h"

#include <windows.h>

namespace openimb::system {

// Blocks nothing, because handlers of console events have their own thread.
void block_signals_during(const std::function<void()>& make) { make(); }

namespace {
constexpr int per_group = 64;
}

// Returns the CPUs in the processor group (64 CPUs) of this process. Numbers count over all groups.
std::vector<int> usable_cpus() {
  std::vector<int> cpus;
  DWORD_PTR mask = 0, unused = 0;
  GROUP_AFFINITY group{};
  if (GetProcessAffinityMask(GetCurrentProcess(), &mask, &unused) == 0 ||
      GetThreadGroupAffinity(GetCurrentThread(), &group) == 0) {
    return cpus;
  }
  for (int cpu = 0; cpu < static_cast<int>(8 * sizeof mask); ++cpu) {
    if ((mask >> cpu & 1) != 0) cpus.push_back(group.Group * per_group + cpu);
  }
  return cpus;
}

bool pin_this_thread(int cpu) {
  return SetThreadAffinityMask(GetCurrentThread(), DWORD_PTR{1} << (cpu % per_group)) != 0;
}

}  // namespace openimb::system
