// What a correct MPI delivers, in words a benchmark can say: pieces of send buffers at places in the receive
// buffer.
#pragma once

#include <cstdint>
#include <vector>

namespace openimb {

/// Where a rank stands when it is asked what it expects. `elements`: base elements in one message.
struct Place {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::int64_t elements = 0;
};

/// `count` elements at `receive_at` in the receive buffer must equal those at `send_at` in `rank`'s send
/// buffer, or their sum over all ranks. All offsets in base elements.
struct Piece {
  static constexpr int sum_of_all = -1;
  static constexpr int sum_with_own = -2;  ///< own send buffer added to what the receive buffer held
  int rank = 0;
  std::int64_t send_at = 0;
  std::int64_t receive_at = 0;
  std::int64_t count = 0;
};
using Expected = std::vector<Piece>;

/// The whole message of one rank at the beginning of the receive buffer.
inline Expected message_of(const Place& place, int rank) { return {{rank, 0, 0, place.elements}}; }

/// Every rank's message, in rank order; `send_at`: where in its send buffer each rank holds the part for this
/// one.
inline Expected message_of_each(const Place& place, std::int64_t send_at) {
  Expected expected;
  for (int rank = 0; rank < place.ranks; ++rank) {
    expected.push_back({rank, send_at, rank * place.elements, place.elements});
  }
  return expected;
}

}  // namespace openimb
