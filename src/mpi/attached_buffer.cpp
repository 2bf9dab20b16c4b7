#include "mpi/attached_buffer.h"

#include <cstring>
#include <limits>
#include <new>

#include "mpi/errors.h"
#include "plan/sending.h"

namespace openimb {

namespace {

static_assert(MPI_BSEND_OVERHEAD <= most_send_overhead);

#ifdef OPENIMB_LARGE_COUNT
using Size = MPI_Count;
Size packed_size(std::int64_t elements, MPI_Datatype type, MPI_Comm comm) {
  Size bytes = 0;
  MPI_Pack_size_c(elements, type, comm, &bytes);
  return bytes;
}
int attach(void* memory, Size bytes) { return MPI_Buffer_attach_c(memory, bytes); }
void detach(void* memory, Size* bytes) { MPI_Buffer_detach_c(memory, bytes); }
#else
using Size = int;
Size packed_size(std::int64_t elements, MPI_Datatype type, MPI_Comm comm) {
  Size bytes = 0;
  MPI_Pack_size(static_cast<int>(elements), type, comm, &bytes);
  return bytes;
}
int attach(void* memory, Size bytes) { return MPI_Buffer_attach(memory, bytes); }
void detach(void* memory, Size* bytes) { MPI_Buffer_detach(memory, bytes); }
#endif

}  // namespace

// Errors of attaching belong to no communicator: MPI 4 reports them to MPI_COMM_SELF, MPI 3 to
// MPI_COMM_WORLD.
AttachedBuffer::AttachedBuffer(std::int64_t messages, std::int64_t elements, MPI_Datatype type,
                               MPI_Comm comm) {
  const std::int64_t bytes =
      messages * (std::int64_t{packed_size(elements, type, comm)} + MPI_BSEND_OVERHEAD);
  if (bytes > std::numeric_limits<Size>::max()) return;
  memory_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
  if (!memory_) return;
  std::memset(memory_.get(), 0, static_cast<std::size_t>(bytes));  // its pages are there before the clock
  const ErrorsReturned of_world(MPI_COMM_WORLD), of_self(MPI_COMM_SELF);
  attached_ = attach(memory_.get(), static_cast<Size>(bytes)) == MPI_SUCCESS;
}

AttachedBuffer::~AttachedBuffer() {
  if (!attached_) return;
  void* memory = nullptr;
  Size bytes = 0;
  detach(static_cast<void*>(&memory), &bytes);
}

}  // namespace openimb
