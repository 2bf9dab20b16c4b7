// -off_cache: the cache that messages must not be in.
#pragma once

#include <cstdint>
#include <optional>

#include "model/options.h"
#include "session/process_group.h"

namespace openimb {

/// -off_cache with values that were not given filled in: from -set CACHE_SIZE, or the largest cache of any
/// rank's machine, including GPUs (`gpu_cache` bytes) with buffers on them.
std::optional<OffCache> known_off_cache(ProcessGroup& world, const Options& options, std::int64_t gpu_cache);

}  // namespace openimb
