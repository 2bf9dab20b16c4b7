// What a correct MPI delivers, as a benchmark states it: pieces of send buffers at offsets in the receive
// buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/options.h"
#include "plan/rounds.h"

namespace openimb {

/// This rank in its group. A benchmark's functions that describe a rank get it.
struct GroupRank {
  int rank = 0;
  int ranks = 1;
  int root = 0;               ///< of the repetition; with random partners: the round
  std::int64_t elements = 0;  ///< base elements in one message
  bool own_window = true;     ///< the memory of a window is the suite's; false: MPI allocated it
  bool in_place = false;      ///< the receive buffer holds the input of a collective that can work in place
  Stencil stencil = {};       ///< its benchmark's, as options change it
  int most_pairs = 0;         ///< the same: how many pairs at most; 0: no limit
  std::uint64_t seed = default_seed;              ///< of random partners
  int stride = 0;                                 ///< -stride
  int partitions = 1;                             ///< -partitions
  int in_flight = 1;                              ///< messages of a repetition, where there are many
  const Neighborhood* neighborhood = nullptr;     ///< for neighborhood collectives
  const RoundPartners* round_partners = nullptr;  ///< for pairs in rounds: the partners of this rank

  /// Neighbors in the periodic chain.
  int left() const { return (rank + ranks - step() % ranks) % ranks; }
  int right() const { return (rank + step()) % ranks; }
  int step() const { return stride > 0 ? stride : 1; }
};

/// `count` elements at `receive_at` in the receive buffer must equal the elements at `send_at` in `rank`'s
/// send buffer or, if `summed` is above 0, their sum over ranks 0 to summed - 1. `added`: plus what the
/// receive buffer held before. All offsets are in base elements.
struct Piece {
  int rank = 0;
  std::int64_t send_at = 0;
  std::int64_t receive_at = 0;
  std::int64_t count = 0;
  bool added = false;
  int summed = 0;
};
using Expected = std::vector<Piece>;

/// The rank whose send buffer has the contents that an updated receive buffer holds before a repetition: the
/// rank itself in place; otherwise `ranks`, which no rank has, on all ranks.
inline int initial_content(const GroupRank& e) { return e.in_place ? e.rank : e.ranks; }

/// The whole message of one rank at the beginning of the receive buffer.
inline Expected message_of(const GroupRank& e, int rank) { return {{rank, 0, 0, e.elements}}; }

/// The messages that `rank` has in flight at once: all have the same contents, each has its own memory in the
/// receive buffer.
inline Expected messages_in_flight(const GroupRank& e, int rank) {
  Expected expected;
  for (int i = 0; i < e.in_flight; ++i) expected.push_back({rank, 0, i * e.elements, e.elements});
  return expected;
}

/// One message from each rank, in rank order. `send_at`: its offset in the send buffer of each rank.
inline Expected message_of_each(const GroupRank& e, std::int64_t send_at) {
  Expected expected;
  for (int rank = 0; rank < e.ranks; ++rank) {
    expected.push_back({rank, send_at, rank * e.elements, e.elements});
  }
  return expected;
}

/// `count` elements of the sum over the first `ranks` ranks, from offset `at` of their send buffers on.
inline Expected sum_of_first(int ranks, std::int64_t at, std::int64_t count) {
  return {{.send_at = at, .count = count, .summed = ranks}};
}

}  // namespace openimb
