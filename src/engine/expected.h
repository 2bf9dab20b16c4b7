// What a correct MPI delivers, in words a benchmark can say: pieces of send buffers at places in the receive
// buffer.
#pragma once

#include <cstdint>
#include <vector>

namespace openimb {

/// Where a rank stands when it is asked what it expects. `elements`: base elements in one message;
/// `own_window`: a window is memory of ours, not MPI's.
struct Place {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::int64_t elements = 0;
  bool own_window = true;
};

/// `count` elements at `receive_at` in the receive buffer must equal those at `send_at` in `rank`'s send
/// buffer, or their sum over all ranks; `added`: to what the receive buffer held. All offsets in base
/// elements.
struct Piece {
  static constexpr int all_ranks = -1;
  int rank = 0;
  std::int64_t send_at = 0;
  std::int64_t receive_at = 0;
  std::int64_t count = 0;
  bool added = false;
};
using Expected = std::vector<Piece>;

/// Of whom, so to say, an updated receive buffer holds the message before a repetition, on every rank.
inline int nobody(const Place& place) { return place.ranks; }

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
