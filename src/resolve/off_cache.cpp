#include "resolve/off_cache.h"

#include <algorithm>

#include "cli/command_line.h"
#include "system/machine.h"

namespace openimb {

std::optional<OffCache> resolve_off_cache(ProcessGroup& world, const Options& options,
                                          std::int64_t gpu_cache) {
  if (!options.off_cache) return std::nullopt;
  OffCache cache = *options.off_cache;
  system::Cache mine = system::last_level_cache();
  if (options.memory.uses_device() || options.memory.is_managed()) {
    constexpr int gpu_line = 128;
    mine.size = std::max<decltype(mine.size)>(mine.size, gpu_cache);
    mine.line = std::max<decltype(mine.line)>(mine.line, gpu_line);
  }
  const auto size = static_cast<std::int64_t>(world.allreduce_max(static_cast<double>(mine.size)));
  const int line = static_cast<int>(world.allreduce_max(mine.line));
  if (cache.cache_size == 0) cache.cache_size = options.settings.cache_size;
  if (cache.cache_size == 0) cache.cache_size = size;
  if (cache.cache_line == 0) cache.cache_line = options.settings.cache_line;
  if (cache.cache_line == 0) cache.cache_line = line > 0 ? line : default_cache_line;
  if (cache.cache_size == 0) {
    throw UsageError(
        "-off_cache -1: the cache size of this machine is unknown; give it in MB, for example: -off_cache "
        "32");
  }
  return cache;
}

}  // namespace openimb
