// The send and receive memory of one rank. Grown and never shrunk while a launch lasts, so that tables reuse
// memory that MPI has already seen.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "engine/content.h"
#include "memory/memory.h"
#include "plan/geometry.h"
#include "plan/saturating.h"

namespace openimb {

/// One side's buffer.
class Buffer {
 public:
  explicit Buffer(MemoryKind kind = MemoryKind::host, Device* device = nullptr)
      : kind_(kind), device_(device) {}
  bool holds(std::int64_t bytes) const { return bytes == 0 || (memory_ && bytes <= memory_->bytes()); }
  /// Contents are lost when it grows. Throws std::bad_alloc, and then has its old size, as other tables may
  /// be open; or, where not even that is there any more, nothing.
  void ensure(std::int64_t bytes, std::int64_t alignment) {
    if (holds(bytes)) return;
    const std::int64_t before = memory_ ? memory_->bytes() : 0;
    memory_.reset();  // first: old and new together would exceed what -mem allows
    try {
      memory_ = allocate_memory(kind_, bytes, alignment, device_);
    } catch (const std::bad_alloc&) {
      if (before > 0) memory_ = allocate_memory(kind_, before, alignment, device_);
      throw;
    }
  }
  /// Null until ensured.
  Memory* memory() const { return memory_.get(); }
  /// So many bytes of it, from byte `at` on.
  std::unique_ptr<Memory> part(std::int64_t at, std::int64_t bytes) const {
    return adopt_memory(kind_, memory_->address() + at, bytes, device_);
  }

 private:
  MemoryKind kind_;
  Device* device_;  ///< of kinds other than host
  std::unique_ptr<Memory> memory_;
};

struct Buffers {
  Buffers(const MemoryChoice& choice, Device* device)
      : send(choice.send, device), receive(choice.receive, device) {}

  Buffer send;
  Buffer receive;
  /// What they were filled with last, and for how many bytes of each.
  Filling filling = {};
  Capacity filled = {};

  /// Room for every point that `wanted` covers, guards included; not for the side that `elsewhere` names,
  /// whose memory comes from MPI. Throws std::bad_alloc.
  void ensure(const Capacity& wanted, Exposed elsewhere, std::int64_t alignment) {
    const auto grow = [alignment](Buffer& buffer, std::int64_t bytes, std::int64_t& filled_bytes) {
      if (!buffer.holds(bytes)) filled_bytes = 0;
      buffer.ensure(bytes, alignment);
    };
    if (elsewhere != Exposed::send) grow(send, plus(wanted.send, Content::guard), filled.send);
    if (elsewhere != Exposed::receive) grow(receive, plus(wanted.receive, Content::guard), filled.receive);
  }
};

/// Fills the first `bytes` of a buffer with what it holds while it is timed (fill_for_timing), in chunks.
void fill_for_timing(Memory& memory, std::int64_t bytes, const Element& element, const Spec& spec, int rank);

}  // namespace openimb
