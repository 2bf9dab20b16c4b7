// Persistent requests, owned.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace openimb {

/// So many requests for each slot of the buffers. Freed here, when none is active.
template <int per_slot>
class PersistentRequests {
 public:
  PersistentRequests() = default;
  PersistentRequests(PersistentRequests&& other) noexcept : requests_(std::exchange(other.requests_, {})) {}
  PersistentRequests& operator=(PersistentRequests&&) = delete;
  ~PersistentRequests() {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

  /// Where to put the next request, slot by slot. Valid until the next call.
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  struct View {
    MPI_Request* first;
    /// A slot's.
    MPI_Request* of(std::int64_t slot) const { return first + per_slot * slot; }
  };
  View view() { return {requests_.data()}; }

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace openimb
