// Persistent requests, owned.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace openimb {

/// A send and a receive request for each slot of the buffers. Freed here, when none is active.
class PersistentPairs {
 public:
  PersistentPairs() = default;
  PersistentPairs(PersistentPairs&& other) noexcept : requests_(std::exchange(other.requests_, {})) {}
  PersistentPairs& operator=(PersistentPairs&&) = delete;
  ~PersistentPairs() {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }

  /// Where to put the requests of the next slot: first its send, then its receive. Valid until the next call.
  MPI_Request* add_send() { return add(); }
  MPI_Request* add_receive() { return add(); }
  struct View {
    MPI_Request* first;
    /// A slot's two.
    MPI_Request* of(std::int64_t slot) const { return first + 2 * slot; }
  };
  View view() { return {requests_.data()}; }

 private:
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  std::vector<MPI_Request> requests_;
};

}  // namespace openimb
