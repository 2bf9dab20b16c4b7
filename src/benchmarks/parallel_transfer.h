// Parallel transfer benchmarks: every process of the group with its neighbors in a periodic chain, or pairs
// of processes with many messages in flight. Source: guide, "Parallel Transfer Benchmarks"; Uniband
// and Biband: public user guide of IMB 2021.
#pragma once

#include "engine/pattern.h"

namespace openimb {

struct Sendrecv {
  static constexpr Spec spec{.name = "Sendrecv", .kind = Kind::parallel_transfer, .turnover = 2};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    call::send_receive(lap.send, lap.receive, c.count, c.type, c.right, c.left, message_tag, c.comm);
  }
  static Expected expects(const Endpoint& e) { return message_of(e, e.left()); }
};

// With two processes both neighbors are the same rank: tags keep the directions apart.
inline constexpr int to_left = 1, to_right = 2;

struct Exchange {
  static constexpr Spec spec{.name = "Exchange",
                             .kind = Kind::parallel_transfer,
                             .send = Extent::two,
                             .receive = Extent::two,
                             .turnover = 4};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    MPI_Request requests[2];
    call::start_send(lap.send, c.count, c.type, c.right, to_right, c.comm, &requests[0]);
    call::start_send(lap.send + c.span, c.count, c.type, c.left, to_left, c.comm, &requests[1]);
    call::receive(lap.receive, c.count, c.type, c.left, to_right, c.comm);
    call::receive(lap.receive + c.span, c.count, c.type, c.right, to_left, c.comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  static Expected expects(const Endpoint& e) {
    return {{e.left(), 0, 0, e.elements}, {e.right(), e.elements, e.elements, e.elements}};
  }
};

/// Rank i of the first half with rank i of the second; with an odd number the last rank stands aside. A
/// repetition has many messages in flight, which use the same buffers and carry the same bytes.
struct PairsInFlight {
  static bool first_half(int rank, int ranks) { return rank < ranks / 2; }
  static bool takes_part(const Endpoint& e) { return e.rank < e.ranks / 2 * 2; }
  static int peer_of(const Endpoint& e) {
    return first_half(e.rank, e.ranks) ? e.rank + e.ranks / 2 : e.rank - e.ranks / 2;
  }
  template <class C>
  static void start_sends(const C& c, const Lap& lap, MPI_Request* requests) {
    for (int i = 0; i < c.in_flight; ++i) {
      call::start_send(lap.send, c.count, c.type, c.peer, message_tag, c.comm, &requests[i]);
    }
  }
  template <class C>
  static void start_receives(const C& c, const Lap& lap, MPI_Request* requests) {
    for (int i = 0; i < c.in_flight; ++i) {
      call::start_receive(lap.receive, c.count, c.type, c.peer, message_tag, c.comm, &requests[i]);
    }
  }
};

struct Uniband : PairsInFlight {
  static constexpr Spec spec{.name = "Uniband",
                             .kind = Kind::parallel_transfer,
                             .message_rate = true,
                             .min_processes = 2,
                             .in_default_list = false};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    if (first_half(c.rank, c.ranks)) {
      start_sends(c, lap, c.requests);
    } else {
      start_receives(c, lap, c.requests);
    }
    MPI_Waitall(c.in_flight, c.requests, MPI_STATUSES_IGNORE);
  }
  static Expected expects(const Endpoint& e) {
    return first_half(e.rank, e.ranks) ? Expected{} : message_of(e, peer_of(e));
  }
};

struct Biband : PairsInFlight {
  static constexpr Spec spec{.name = "Biband",
                             .kind = Kind::parallel_transfer,
                             .turnover = 2,
                             .message_rate = true,
                             .min_processes = 2,
                             .in_default_list = false};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    start_receives(c, lap, c.requests);
    start_sends(c, lap, c.requests + c.in_flight);
    MPI_Waitall(2 * c.in_flight, c.requests, MPI_STATUSES_IGNORE);
  }
  static Expected expects(const Endpoint& e) { return message_of(e, peer_of(e)); }
};

}  // namespace openimb
