// What the one-sided benchmarks of both components are made of: what is moved, and to whom. Disjoint places:
// concurrent transfers to the same bytes have no defined outcome (MPI 3.1, section 11.7), so nothing could be
// checked. Source: guide, "MPI-2 Benchmarks", "IMB-RMA Benchmarks".
#pragma once

#include "engine/pattern.h"
#include "engine/sync_loops.h"

namespace openimb {

/// Displacement of message `slice` of this repetition in a window that begins at `base`.
template <class C>
MPI_Aint place_at(const C& c, const Lap& lap, MPI_Aint base, int slice) {
  return base + lap.remote + slice * c.span;
}

/// From message `from` of the own send buffer to message `to` of the target's receive buffer; `base`: where
/// the target's window begins. Where a move takes a request, it starts the transfer (forms.h).
struct Put {
  static constexpr Exposed exposed = Exposed::receive;
  template <class C, class... Request>
  static void move(const C& c, const Lap& lap, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::put(lap.send + from * c.span, c.count, c.type, target, place_at(c, lap, base, to), c.win,
              request...);
  }
};

/// From message `from` of the target's send buffer to message `to` of the own receive buffer.
struct Get {
  static constexpr Exposed exposed = Exposed::send;
  template <class C, class... Request>
  static void move(const C& c, const Lap& lap, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::get(lap.receive + to * c.span, c.count, c.type, target, place_at(c, lap, base, from), c.win,
              request...);
  }
};

/// From message `from` of the own send buffer to message `to` of what the target holds: added.
struct AddTo {
  template <class C, class... Request>
  static void move(const C& c, const Lap& lap, int target, MPI_Aint base, int from, int to,
                   Request... request) {
    call::accumulate(lap.send + from * c.span, c.count, c.type, target, place_at(c, lap, base, to), c.op,
                     c.win, request...);
  }
};

/// The two ways of one transfer between ranks 0 and 1: rank 0 is the origin, or both are.
struct OneWay {
  static bool is_origin(int rank) { return rank == 0; }
};
struct BothWays {
  static bool is_origin(int) { return true; }
};

/// A pair's: one message, from one rank to the other or both ways.
template <class Ways>
Traffic traffic_of_pair(const Endpoint& e) {
  const int other = 1 - e.rank;
  Traffic traffic;
  if (Ways::is_origin(e.rank)) traffic.transfers = {{.target = other}};
  if (Ways::is_origin(other)) traffic.origins = {other};
  return traffic;
}

/// From every rank, rank 0 included, to rank 0.
inline Traffic traffic_to_root(const Endpoint& e) {
  Traffic traffic{.transfers = {{.target = 0}}, .origins = {}};
  for (int rank = 0; e.rank == 0 && rank < e.ranks; ++rank) traffic.origins.push_back(rank);
  return traffic;
}

/// What a pair has moved: a put arrives at the origin's peer, a get at the origin.
template <class Move, class Ways>
Expected moved_by_pair(const Endpoint& e) {
  const int origin = Move::exposed == Exposed::receive ? 1 - e.rank : e.rank;
  return Ways::is_origin(origin) ? message_of(e, 1 - e.rank) : Expected{};
}

}  // namespace openimb
