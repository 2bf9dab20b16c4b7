#include "system/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace openimb::system {

Machine machine() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return {names.machine, names.sysname, names.release, names.version};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::int64_t process_number() { return getpid(); }

namespace {

// /sys exists on Linux only; elsewhere the files do not open, and the result is "unknown".
Cache cache_from_sysfs() {
  Cache cache;
  int highest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), size_file(folder + "size"),
        line_file(folder + "coherency_line_size");
    int level = 0, line = 0;
    std::int64_t size = 0;
    char unit = ' ';
    if (!(level_file >> level) || level < highest || !(size_file >> size)) continue;
    if (size_file >> unit) size *= unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1;
    line_file >> line;
    highest = level;
    cache = {size, line};
  }
  return cache;
}

}  // namespace

Cache last_level_cache() {
  Cache cache = cache_from_sysfs();
#ifdef _SC_LEVEL1_DCACHE_LINESIZE
  if (cache.size == 0)
    cache.size = std::max({0L, sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE)});
  if (cache.line == 0) cache.line = static_cast<int>(std::max(0L, sysconf(_SC_LEVEL1_DCACHE_LINESIZE)));
#endif
  return cache;
}

}  // namespace openimb::system
