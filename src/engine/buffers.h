// The send buffer and the receive buffer of one rank. They only grow during a launch, so that tables reuse
// memory that MPI has already registered.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "engine/content.h"
#include "memory/memory.h"
#include "model/saturating.h"
#include "plan/geometry.h"

namespace openimb {

/// The send buffer or the receive buffer.
class Buffer {
 public:
  explicit Buffer(MemoryKind kind = MemoryKind::host, Device* device = nullptr)
      : kind_(kind), device_(device) {}
  bool holds(std::int64_t bytes) const { return bytes == 0 || (memory_ && bytes <= memory_->bytes()); }
  /// Makes room for `bytes` bytes. If the buffer grows, its contents are lost. Throws std::bad_alloc. The
  /// buffer then has its old size again, because other tables may be open, or no memory if that fails too.
  void ensure(std::int64_t bytes, std::int64_t alignment) {
    if (holds(bytes)) return;
    const std::int64_t before = memory_ ? memory_->bytes() : 0;
    memory_.reset();  // freed first: old and new memory together would exceed -mem
    try {
      memory_ = allocate_memory(kind_, bytes, alignment, device_);
    } catch (const std::bad_alloc&) {
      if (before > 0) memory_ = allocate_memory(kind_, before, alignment, device_);
      throw;
    }
  }
  /// Null until ensure() has been called.
  Memory* memory() const { return memory_.get(); }
  /// A view of `bytes` bytes of the buffer, from byte `at` on.
  std::unique_ptr<Memory> part(std::int64_t at, std::int64_t bytes) const {
    return adopt_memory(kind_, memory_->address() + at, bytes, device_);
  }

 private:
  MemoryKind kind_;
  Device* device_;  ///< null if all memory is on the host
  std::unique_ptr<Memory> memory_;
};

struct Buffers {
  Buffers(const MemoryChoice& choice, Device* device)
      : send(choice.send, device), receive(choice.receive, device) {}

  Buffer send;
  Buffer receive;
  /// The contents that the buffers were last filled with for timing, and how many bytes of each have them.
  Filling filling = {};
  Capacity filled = {};

  /// Makes room for `wanted` and the guards. `elsewhere`: the buffer that gets no memory here because MPI
  /// allocates it. Throws std::bad_alloc.
  void ensure(const Capacity& wanted, ExposedBuffer elsewhere, std::int64_t alignment) {
    const auto grow = [alignment](Buffer& buffer, std::int64_t bytes, std::int64_t& filled_bytes) {
      if (!buffer.holds(bytes)) filled_bytes = 0;
      buffer.ensure(bytes, alignment);
    };
    if (elsewhere != ExposedBuffer::send) grow(send, plus(wanted.send, Content::guard), filled.send);
    if (elsewhere != ExposedBuffer::receive)
      grow(receive, plus(wanted.receive, Content::guard), filled.receive);
  }
};

/// Fills the first `bytes` bytes of a buffer with the contents that it has while it is timed
/// (engine/content.h).
void fill_for_timing(Memory& memory, std::int64_t bytes, const Element& element, const Spec& spec, int rank);

}  // namespace openimb
