// Memory of message buffers. Only a Memory and MPI access what its address points to: contents are composed
// and compared as images in ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "model/memory_kind.h"

namespace openimb {

class Device;

/// To which messages are aligned, whatever the pages of the machine are.
inline constexpr std::int64_t page_bytes = 4096;

class Memory {
 public:
  virtual ~Memory() = default;
  virtual MemoryKind kind() const = 0;
  /// For MPI calls; never to be dereferenced.
  virtual std::byte* address() const = 0;
  virtual std::int64_t bytes() const = 0;
  /// Copies an image to, or from, the bytes that begin at `at`. at + image.size() must not exceed bytes().
  virtual void write(std::int64_t at, std::span<const std::byte> image) = 0;
  virtual void read(std::int64_t at, std::span<std::byte> image) const = 0;
};

/// Aligned to a page and to `alignment`, a power of two. `device`: required for every kind except host; it
/// outlives the memory. Throws std::bad_alloc, or DeviceError.
std::unique_ptr<Memory> allocate_memory(MemoryKind kind, std::int64_t bytes, std::int64_t alignment = 1,
                                        Device* device = nullptr);

/// Memory that outlives the result: what MPI allocated for a window, or a part of other memory.
std::unique_ptr<Memory> adopt_memory(MemoryKind kind, std::byte* address, std::int64_t bytes,
                                     Device* device = nullptr);

/// Copies by loads and stores of the processor: the operation that benchmarks of shared memory time. The
/// ranges must not overlap.
void copy_on_cpu(void* to, const void* from, std::int64_t bytes);

}  // namespace openimb
