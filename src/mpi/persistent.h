// Owns persistent requests.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace openimb {

/// Has `per_slot` requests for each slot of the buffers. The destructor frees them; none may be active then.
template <int per_slot>
class PersistentRequests {
 public:
  static constexpr int requests_per_slot = per_slot;
  PersistentRequests() = default;
  PersistentRequests(PersistentRequests&& other) noexcept : requests_(std::exchange(other.requests_, {})) {}
  PersistentRequests& operator=(PersistentRequests&&) = delete;
  ~PersistentRequests() {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

  /// Returns the address for the next request, slot by slot. It is valid until the next call.
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  struct View {
    MPI_Request* first;
    /// The requests of a slot.
    MPI_Request* of(std::int64_t slot) const { return first + per_slot * slot; }
  };
  View view() { return {requests_.data()}; }

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace openimb
