// The contents of a receive buffer that a benchmark expects from a correct MPI: pieces of send buffers at
// offsets in the receive buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "model/options.h"
#include "plan/rounds.h"

namespace openimb {

/// This rank in its group, with the options that patterns need. It is the argument of the functions of a
/// benchmark that describe a rank, such as `expects`.
struct GroupRank {
  int rank = 0;
  int ranks = 1;
  int root = 0;                                   ///< root of the repetition; with random partners, the round
  std::int64_t elements = 0;                      ///< base elements in one message
  bool own_window = true;                         ///< the suite allocated the memory of the window, not MPI
  bool in_place = false;                          ///< the collective runs with MPI_IN_PLACE
  Stencil stencil = {};                           ///< Spec::stencil, as changed by -halo
  int max_pairs = 0;                              ///< Spec::max_pairs, as changed by -pairs; 0: no limit
  std::uint64_t seed = default_seed;              ///< -seed, for random partners
  int stride = 0;                                 ///< -stride
  int partitions = 1;                             ///< -partitions
  int in_flight = 1;                              ///< messages per repetition
  const Neighborhood* neighborhood = nullptr;     ///< neighborhood collectives: neighbors of this rank
  const RoundPartners* round_partners = nullptr;  ///< IMB-FABRIC: partners of this rank

  /// Neighbors in the periodic chain, at distance step().
  int left() const { return (rank + ranks - step() % ranks) % ranks; }
  int right() const { return (rank + step()) % ranks; }
  int step() const { return stride > 0 ? stride : 1; }
};

/// Expected contents of `count` elements at `receive_at` in the receive buffer: the elements at `send_at` in
/// `rank`'s send buffer or, if `summed` is above 0, their sum over ranks 0 to summed - 1. If `added`, what
/// the receive buffer held before is added. All offsets are in base elements.
struct Piece {
  int rank = 0;
  std::int64_t send_at = 0;
  std::int64_t receive_at = 0;
  std::int64_t count = 0;
  bool added = false;
  int summed = 0;
};
using ExpectedContents = std::vector<Piece>;

/// The rank with whose send contents -check fills a receive buffer that is also input. In place it is the
/// rank itself. Otherwise it is `ranks` on all ranks: a number that no rank has.
inline int initial_content(const GroupRank& e) { return e.in_place ? e.rank : e.ranks; }

/// The whole message of one rank at the beginning of the receive buffer.
inline ExpectedContents message_of(const GroupRank& e, int rank) { return {{rank, 0, 0, e.elements}}; }

/// The messages in flight from `rank`. All have the same contents, and each has its own memory in the receive
/// buffer.
inline ExpectedContents messages_in_flight(const GroupRank& e, int rank) {
  ExpectedContents expected;
  for (int i = 0; i < e.in_flight; ++i) expected.push_back({rank, 0, i * e.elements, e.elements});
  return expected;
}

/// One message from each rank, in rank order. `send_at`: offset of the message in the send buffer of each
/// rank.
inline ExpectedContents message_of_each(const GroupRank& e, std::int64_t send_at) {
  ExpectedContents expected;
  for (int rank = 0; rank < e.ranks; ++rank) {
    expected.push_back({rank, send_at, rank * e.elements, e.elements});
  }
  return expected;
}

/// The sum over ranks 0 to `ranks` - 1 of `count` elements at offset `at` of their send buffers.
inline ExpectedContents sum_of_first(int ranks, std::int64_t at, std::int64_t count) {
  return {{.send_at = at, .count = count, .summed = ranks}};
}

}  // namespace openimb
