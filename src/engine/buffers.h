// The send and receive memory of one rank. Grown and never shrunk while a launch lasts, so that tables reuse
// memory that MPI has already seen.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/content.h"
#include "memory/memory.h"
#include "plan/geometry.h"

namespace openimb {

/// One side's buffer.
class Buffer {
 public:
  /// Contents are lost when it grows. Throws std::bad_alloc, and then holds nothing.
  void ensure(MemoryKind kind, std::int64_t bytes) {
    if (memory_ && bytes <= memory_->bytes()) return;
    memory_.reset();  // first: old and new together would exceed what -mem allows
    memory_ = allocate_memory(kind, bytes);
  }
  /// Null until ensured.
  Memory* memory() const { return memory_.get(); }

 private:
  std::unique_ptr<Memory> memory_;
};

struct Buffers {
  Buffer send;
  Buffer receive;
  /// What they were filled with last, and for how many bytes of each.
  Filling filling = {};
  Capacity filled = {};

  /// Room for every point that `wanted` covers, guards included; not for the side that `elsewhere` names,
  /// whose memory comes from MPI. Throws std::bad_alloc.
  void ensure(const Capacity& wanted, MemoryKind kind, Exposed elsewhere) {
    if (elsewhere != Exposed::send) send.ensure(kind, wanted.send + Content::guard);
    if (elsewhere != Exposed::receive) receive.ensure(kind, wanted.receive + Content::guard);
  }
};

/// Fills the first `bytes` of a buffer with what it holds while it is timed (fill_for_timing), in chunks.
void fill_for_timing(Memory& memory, std::int64_t bytes, const Element& element, const Spec& spec, int rank);

}  // namespace openimb
