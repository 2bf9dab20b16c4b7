// Memory that the driver of a GPU allocates: on the GPU, managed, or pinned on the host.
#pragma once

#include <memory>

#include "device/driver.h"
#include "memory/memory.h"

namespace openimb {

/// allocate_memory() and adopt_memory() for all kinds except host.
std::unique_ptr<Memory> allocate_on_device(MemoryKind kind, std::int64_t bytes, std::int64_t alignment,
                                           Device& device);
std::unique_ptr<Memory> adopt_on_device(MemoryKind kind, std::byte* address, std::int64_t bytes,
                                        Device& device);

}  // namespace openimb
