// Owns requests of partitioned communication. Source: MPI 4.0, chapter 4.
#pragma once

#include <mpi.h>

#include "mpi/persistent.h"

namespace openimb {

/// Returns the largest number of equal parts, at most `most`, into which a message can be divided; at least
/// 1.
template <class Count>
int parts_of(Count elements, int most) {
  for (int parts = most; parts > 1; --parts) {
    if (elements >= parts && elements % parts == 0) return parts;
  }
  return 1;
}

/// Has `per_slot` requests for each slot. Each is for a message in `parts` parts.
template <int per_slot>
class PartitionedRequests {
 public:
  static constexpr int requests_per_slot = per_slot;
  explicit PartitionedRequests(int parts) : parts_(parts) {}
  int parts() const { return parts_; }
  MPI_Request* add() { return requests_.add(); }
  struct View {
    typename PersistentRequests<per_slot>::View requests;
    int parts;
    MPI_Request* of(std::int64_t slot) const { return requests.of(slot); }
  };
  View view() { return {requests_.view(), parts_}; }

 private:
  int parts_;
  PersistentRequests<per_slot> requests_;
};

}  // namespace openimb
