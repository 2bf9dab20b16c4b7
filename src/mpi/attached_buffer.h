// The buffer of MPI_Bsend. A process can attach one. Source: MPI 4.1, section 3.6.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace openimb {

class AttachedBuffer {
 public:
  /// Attaches a buffer for `messages` messages of `elements` elements of `type` each. Local. Converts to
  /// false if there is not enough memory, if MPI refuses the buffer, or if its size exceeds an int and the
  /// library has no large counts.
  AttachedBuffer(std::int64_t messages, std::int64_t elements, MPI_Datatype type, MPI_Comm comm);
  /// Waits until all messages have been sent.
  ~AttachedBuffer();
  AttachedBuffer(const AttachedBuffer&) = delete;
  AttachedBuffer& operator=(const AttachedBuffer&) = delete;

  explicit operator bool() const { return attached_; }

 private:
  std::int64_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  bool attached_ = false;
};

}  // namespace openimb
