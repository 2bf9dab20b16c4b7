// The send and receive memory of one rank. Page-aligned, grown and never shrunk while a launch lasts, so that
// tables reuse memory that MPI has already seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "engine/content.h"
#include "plan/geometry.h"

namespace openimb {

class Memory {
 public:
  /// Contents are lost when it grows. Throws std::bad_alloc, and then holds nothing.
  void ensure(std::int64_t bytes) {
    if (bytes <= size_) return;
    memory_.reset();  // first: old and new together would exceed what -mem allows
    size_ = 0;
    memory_.reset(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), page)));
    size_ = bytes;
  }
  std::byte* data() const { return memory_.get(); }
  std::span<std::byte> first(std::int64_t bytes) const {
    return {memory_.get(), static_cast<std::size_t>(bytes)};
  }

 private:
  static constexpr std::align_val_t page{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, page); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::int64_t size_ = 0;
};

struct Buffers {
  Memory send;
  Memory receive;
  Memory expected;  ///< -check only: what the receive buffer must look like
  Capacity capacity;

  /// Room for every point that `wanted` covers, guards included; not for the side that `elsewhere` names,
  /// whose memory comes from MPI. Throws std::bad_alloc.
  void ensure(const Capacity& wanted, bool check, Exposed elsewhere) {
    capacity = {};
    if (elsewhere != Exposed::send) send.ensure(wanted.send + Content::guard);
    if (elsewhere != Exposed::receive) receive.ensure(wanted.receive + Content::guard);
    if (check) expected.ensure(wanted.receive_checked + Content::guard);
    capacity = wanted;
  }
};

/// Bytes per process that a point needs, as -mem counts them.
inline std::int64_t memory_needed(const Geometry& geometry, bool check) {
  return geometry.total() + (check ? geometry.receive_span(geometry.sections) : 0);
}

}  // namespace openimb
