// -off_cache: the size of the cache that must not hold messages.
#pragma once

#include <cstdint>
#include <optional>

#include "model/options.h"
#include "session/process_group.h"

namespace openimb {

/// Fills in the values that -off_cache does not give. They come from -set CACHE_SIZE and CACHE_LINE_SIZE, or
/// else from the largest cache of any rank's host and, if buffers are on GPUs, of its GPU (`gpu_cache`
/// bytes). Collective. Throws UsageError on all ranks if the size is unknown.
std::optional<OffCache> resolve_off_cache(ProcessGroup& world, const Options& options,
                                          std::int64_t gpu_cache);

}  // namespace openimb
