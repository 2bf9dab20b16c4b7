// Building blocks of the one-sided benchmarks of IMB-EXT and IMB-RMA: transfers, origins and targets.
// Concurrent transfers go to disjoint memory, because transfers to the same bytes have no defined result that
// -check could compare (MPI 3.1, section 11.7). Source: guide, "MPI-2 Benchmarks", "IMB-RMA Benchmarks".
#pragma once

#include "engine/pattern.h"
#include "engine/sync_loops.h"

namespace openimb {

/// Displacement of message number `message` of this repetition in a window. `base`: displacement at which the
/// window begins.
template <class C>
MPI_Aint displacement_of(const C& c, const Iteration& it, MPI_Aint base, int message) {
  return base + it.remote + message * c.message_stride;
}

/// Puts message `from` of the send buffer into message `to` of the target's receive buffer. `base`:
/// displacement at which the target's window begins. If `move` gets a request, it makes the request-based
/// call (forms.h).
struct Put {
  static constexpr ExposedBuffer exposed = ExposedBuffer::receive;
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::put(it.send + from * c.message_stride, c.count, c.type, target, displacement_of(c, it, base, to),
              c.win, request...);
  }
};

/// Gets message `from` of the target's send buffer into message `to` of the receive buffer.
struct Get {
  static constexpr ExposedBuffer exposed = ExposedBuffer::send;
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::get(it.receive + to * c.message_stride, c.count, c.type, target, displacement_of(c, it, base, from),
              c.win, request...);
  }
};

/// Adds message `from` of the send buffer to message `to` of the target's receive buffer.
struct Add {
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::accumulate(it.send + from * c.message_stride, c.count, c.type, target,
                     displacement_of(c, it, base, to), c.op, c.win, request...);
  }
};

/// The origins of transfers between ranks 0 and 1. OneWay: rank 0. BothWays: both.
struct OneWay {
  static bool is_origin(int rank) { return rank == 0; }
};
struct BothWays {
  static bool is_origin(int) { return true; }
};

/// The one-sided transfers between ranks 0 and 1: one message per origin.
template <class Ways>
Traffic traffic_of_pair(const GroupRank& e) {
  const int other = 1 - e.rank;
  Traffic traffic;
  if (Ways::is_origin(e.rank)) traffic.transfers = {{.target = other}};
  if (Ways::is_origin(other)) traffic.origins = {other};
  return traffic;
}

/// The one-sided transfers from every rank, including rank 0, to rank 0.
inline Traffic traffic_to_root(const GroupRank& e) {
  Traffic traffic{.transfers = {{.target = 0}}, .origins = {}};
  for (int rank = 0; e.rank == 0 && rank < e.ranks; ++rank) traffic.origins.push_back(rank);
  return traffic;
}

/// The contents of the receive buffer after the transfers of a pair. A put delivers at the target, a get at
/// the origin.
template <class Move, class Ways>
ExpectedContents pair_contents(const GroupRank& e) {
  const int origin = Move::exposed == ExposedBuffer::receive ? 1 - e.rank : e.rank;
  return Ways::is_origin(origin) ? message_of(e, 1 - e.rank) : ExpectedContents{};
}

}  // namespace openimb
