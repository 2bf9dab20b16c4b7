// The memory of message buffers. Only MPI and the Memory itself access the bytes at its address. The engine
// composes and compares contents as images in ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "model/memory_kind.h"

namespace openimb {

class Device;

/// Alignment of buffers, in bytes. It does not depend on the machine's page size.
inline constexpr std::int64_t buffer_alignment = 4096;

/// A block of memory of one kind.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual MemoryKind kind() const = 0;
  /// The address for MPI calls. It must not be dereferenced: the memory may be on a GPU.
  virtual std::byte* address() const = 0;
  virtual std::int64_t bytes() const = 0;
  /// Copy an image into the memory (`write`) or out of it (`read`), from the byte `offset` on. offset +
  /// image.size() must not exceed bytes().
  virtual void write(std::int64_t offset, std::span<const std::byte> image) = 0;
  virtual void read(std::int64_t offset, std::span<std::byte> image) const = 0;
};

/// Allocates memory that is aligned to buffer_alignment and to `alignment`, a power of two. Every kind except
/// host needs a `device`, which must outlive the memory. Throws std::bad_alloc or DeviceError.
std::unique_ptr<Memory> allocate_memory(MemoryKind kind, std::int64_t bytes, std::int64_t alignment = 1,
                                        Device* device = nullptr);

/// Wraps memory that somebody else owns: memory that MPI allocated for a window, or a part of other memory.
/// It must outlive the result.
std::unique_ptr<Memory> adopt_memory(MemoryKind kind, std::byte* address, std::int64_t bytes,
                                     Device* device = nullptr);

/// Copies with loads and stores of the CPU. Benchmarks of shared memory time this function. The ranges must
/// not overlap.
void copy_on_cpu(void* to, const void* from, std::int64_t bytes);

}  // namespace openimb
