// The parts of the one-sided benchmarks of IMB-EXT and IMB-RMA: the transfers, and their targets. Transfers
// go to disjoint places, as concurrent transfers to the same bytes have no defined result (MPI 3.1, section
// 11.7) and could not be checked. Source: guide, "MPI-2 Benchmarks", "IMB-RMA Benchmarks".
#pragma once

#include "engine/pattern.h"
#include "engine/sync_loops.h"

namespace openimb {

/// Displacement of message number `message` of this repetition in a window that begins at `base`.
template <class C>
MPI_Aint place_at(const C& c, const Iteration& it, MPI_Aint base, int message) {
  return base + it.remote + message * c.message_stride;
}

/// Transfers message `from` of the send buffer to message `to` of the target's receive buffer. `base`:
/// displacement at which the target's window begins. If `move` gets a request, it starts a transfer with a
/// request (forms.h).
struct Put {
  static constexpr ExposedBuffer exposed = ExposedBuffer::receive;
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::put(it.send + from * c.message_stride, c.count, c.type, target, place_at(c, it, base, to), c.win,
              request...);
  }
};

/// Transfers message `from` of the target's send buffer to message `to` of the receive buffer.
struct Get {
  static constexpr ExposedBuffer exposed = ExposedBuffer::send;
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::get(it.receive + to * c.message_stride, c.count, c.type, target, place_at(c, it, base, from), c.win,
              request...);
  }
};

/// Adds message `from` of the send buffer to message `to` of the target's receive buffer.
struct AddTo {
  template <class C, class... Request>
  static void move(const C& c, const Iteration& it, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::accumulate(it.send + from * c.message_stride, c.count, c.type, target, place_at(c, it, base, to),
                     c.op, c.win, request...);
  }
};

/// The origins of transfers between ranks 0 and 1: rank 0 only, or both.
struct OneWay {
  static bool is_origin(int rank) { return rank == 0; }
};
struct BothWays {
  static bool is_origin(int) { return true; }
};

/// The traffic of a pair: one message, from one rank to the other or both ways.
template <class Ways>
Traffic traffic_of_pair(const GroupRank& e) {
  const int other = 1 - e.rank;
  Traffic traffic;
  if (Ways::is_origin(e.rank)) traffic.transfers = {{.target = other}};
  if (Ways::is_origin(other)) traffic.origins = {other};
  return traffic;
}

/// The traffic from every rank, including rank 0, to rank 0.
inline Traffic traffic_to_root(const GroupRank& e) {
  Traffic traffic{.transfers = {{.target = 0}}, .origins = {}};
  for (int rank = 0; e.rank == 0 && rank < e.ranks; ++rank) traffic.origins.push_back(rank);
  return traffic;
}

/// What the transfers of a pair deliver: a put at the peer of the origin, a get at the origin.
template <class Move, class Ways>
Expected moved_by_pair(const GroupRank& e) {
  const int origin = Move::exposed == ExposedBuffer::receive ? 1 - e.rank : e.rank;
  return Ways::is_origin(origin) ? message_of(e, 1 - e.rank) : Expected{};
}

}  // namespace openimb
