#include "mpi/attached_buffer.h"

#include <cstring>
#include <limits>
#include <new>

#include "model/spec.h"
#include "mpi/calls.h"
#include "mpi/datatype.h"
#include "mpi/errors.h"
#include "mpi/optional.h"

namespace openimb {

namespace {

static_assert(MPI_BSEND_OVERHEAD <= max_send_overhead);

constexpr std::int64_t max_int = std::numeric_limits<int>::max();

bool can_attach(std::int64_t bytes) { return bytes <= max_int || call::has_large_counts(); }

std::int64_t size_of(MPI_Datatype type) {
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  return bytes;
}

bool attach(void* memory, std::int64_t bytes) {
#ifdef OPENIMB_LARGE_COUNT
  if (bytes > max_int) return MPI_Buffer_attach_c(memory, bytes) == MPI_SUCCESS;
#endif
  return MPI_Buffer_attach(memory, static_cast<int>(bytes)) == MPI_SUCCESS;
}

void detach([[maybe_unused]] std::int64_t bytes) {
  void* memory = nullptr;
#ifdef OPENIMB_LARGE_COUNT
  if (bytes > max_int) {
    MPI_Count size = 0;
    MPI_Buffer_detach_c(static_cast<void*>(&memory), &size);
    return;
  }
#endif
  int size = 0;
  MPI_Buffer_detach(static_cast<void*>(&memory), &size);
}

}  // namespace

AttachedBuffer::AttachedBuffer(std::int64_t messages, std::int64_t elements, MPI_Datatype type, MPI_Comm comm)
    // The overhead of the library may differ from the overhead in mpi.h.
    : bytes_(messages * (packed_size(elements, type, elements * size_of(type), comm) + max_send_overhead)) {
  if (!can_attach(bytes_)) return;
  memory_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes_)]);
  if (!memory_) return;
  // Touches the pages before the timed region.
  std::memset(memory_.get(), 0, static_cast<std::size_t>(bytes_));
  const ReturnErrorsScope scope;
  attached_ = attach(memory_.get(), bytes_);
}

AttachedBuffer::~AttachedBuffer() {
  if (attached_) detach(bytes_);
}

}  // namespace openimb
