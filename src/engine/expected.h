// What a correct MPI delivers, in terms a benchmark can state: pieces of send buffers at places in the
// receive buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/options.h"

namespace openimb {

/// This rank in its group, as a benchmark is asked what it expects there. `root`: of the repetition, or its
/// round of random partners; `elements`: base elements in one message; `own_window`: the memory of a window
/// is ours, not MPI's; `in_place`: where a collective can, its receive buffer holds its input; `pairs`:
/// options of IMB-P2P; `neighborhood`: of neighborhood
/// collectives.
struct Endpoint {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::int64_t elements = 0;
  bool own_window = true;
  bool in_place = false;
  PairOptions pairs = {};
  int stride = 0;  ///< -stride
  int partitions = 1;
  int in_flight = 1;  ///< messages of a repetition, where there are many
  const Neighborhood* neighborhood = nullptr;
  const RoundPartners* meeting = nullptr;  ///< of pairs in rounds: this rank's

  /// Neighbors in the periodic chain.
  int left() const { return (rank + ranks - step() % ranks) % ranks; }
  int right() const { return (rank + step()) % ranks; }
  int step() const { return stride > 0 ? stride : 1; }
};

/// `count` elements at `receive_at` in the receive buffer must equal those at `send_at` in `rank`'s send
/// buffer; where `summed` is above 0, the sum over ranks 0 to summed - 1 instead. `added`: to what the
/// receive buffer held. All offsets in base elements.
struct Piece {
  int rank = 0;
  std::int64_t send_at = 0;
  std::int64_t receive_at = 0;
  std::int64_t count = 0;
  bool added = false;
  int summed = 0;
};
using Expected = std::vector<Piece>;

/// Whose send buffer's content an updated receive buffer holds before a repetition: a further rank's, the
/// same on all ranks, or in place the rank's own.
inline int initial_content(const Endpoint& e) { return e.in_place ? e.rank : e.ranks; }

/// The whole message of one rank at the beginning of the receive buffer.
inline Expected message_of(const Endpoint& e, int rank) { return {{rank, 0, 0, e.elements}}; }

/// Those that `rank` has in flight at once: the same message, each time with memory of its own.
inline Expected messages_in_flight(const Endpoint& e, int rank) {
  Expected expected;
  for (int i = 0; i < e.in_flight; ++i) expected.push_back({rank, 0, i * e.elements, e.elements});
  return expected;
}

/// Every rank's message, in rank order; `send_at`: where in its send buffer each rank holds the part for this
/// one.
inline Expected message_of_each(const Endpoint& e, std::int64_t send_at) {
  Expected expected;
  for (int rank = 0; rank < e.ranks; ++rank) {
    expected.push_back({rank, send_at, rank * e.elements, e.elements});
  }
  return expected;
}

/// `count` elements of the sum over the first `ranks` ranks, from `at` in their send buffers on.
inline Expected sum_of_first(int ranks, std::int64_t at, std::int64_t count) {
  return {{.send_at = at, .count = count, .summed = ranks}};
}

}  // namespace openimb
