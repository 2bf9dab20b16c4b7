// How much memory a rank had at most: when it ends, FAIL_LOG of inject.h gets its peaks of resident and of
// virtual memory, in kB, as "rank R peak RESIDENT VIRTUAL".
#include <cstring>

#include "inject.h"

namespace {

const pid_t first_process = getpid();

[[gnu::destructor]] void say() {
  if (inject::rank() < 0 || first_process != getpid()) return;
  long resident = 0, virtual_memory = 0;
  std::FILE* const status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr) {
    std::sscanf(line, "VmHWM: %ld", &resident);
    std::sscanf(line, "VmPeak: %ld", &virtual_memory);
  }
  std::fclose(status);
  const int length =
      std::snprintf(line, sizeof line, "rank %d peak %ld %ld\n", inject::rank(), resident, virtual_memory);
  inject::log_line(line, length);
}

}  // namespace
