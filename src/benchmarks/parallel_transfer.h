// Parallel transfer benchmarks: every rank of the group communicates with its neighbors in a periodic chain,
// or pairs of ranks have many messages in flight. Source: guide, "Parallel Transfer Benchmarks"; Uniband and
// Biband: public user guide of IMB 2021.
#pragma once

#include <algorithm>

#include "engine/pattern.h"

namespace openimb {

/// In a periodic chain, every rank sends to its right neighbor and receives from its left neighbor.
struct Sendrecv : PatternBase {
  static constexpr Spec spec{.name = "Sendrecv", .kind = Kind::parallel_transfer, .messages_per_process = 2};
  template <class C>
  static void step(const C& c, const Iteration& it) {
    call::sendrecv(it.send, it.receive, c.count, c.type, c.right, c.left, tag_of(c, message_tag), c.comm);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, e.left()); }
};

// Tags of the two directions. With two ranks, both neighbors are the same rank.
inline constexpr int to_left = 1, to_right = 2;

template <SendMode mode, class C>
void start_sends_to_neighbors(const C& c, const Iteration& it, MPI_Request* requests) {
  call::isend<mode>(it.send, c.count, c.type, c.right, tag_of(c, to_right), c.comm, &requests[0]);
  call::isend<mode>(it.send + c.message_stride, c.count, c.type, c.left, tag_of(c, to_left), c.comm,
                    &requests[1]);
}

/// In a periodic chain, every rank exchanges a message with both neighbors.
struct Exchange : PatternBase {
  static constexpr Spec spec{.name = "Exchange",
                             .kind = Kind::parallel_transfer,
                             .send = Messages::two,
                             .receive = Messages::two,
                             .messages_per_process = 4,
                             .send_modes = every_send_mode};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    MPI_Request requests[2];
    start_sends_to_neighbors<mode>(c, it, requests);
    call::recv(it.receive, c.count, c.type, c.left, tag_of(c, to_right), c.comm);
    call::recv(it.receive + c.message_stride, c.count, c.type, c.right, tag_of(c, to_left), c.comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return {{e.left(), 0, 0, e.elements}, {e.right(), e.elements, e.elements, e.elements}};
  }
};

/// Pairs of ranks. The distance between partners is -stride, by default half of the number of ranks. The
/// lower rank of a pair is the first. A rank without a partner is idle.
struct Pairs : PatternBase {
  static int distance(const GroupRank& e) { return e.stride > 0 ? e.stride : std::max(1, e.ranks / 2); }
  static bool is_first_of_pair(const GroupRank& e) { return e.rank / distance(e) % 2 == 0; }
  static int peer_of(const GroupRank& e) {
    return is_first_of_pair(e) ? e.rank + distance(e) : e.rank - distance(e);
  }
  static bool takes_part(const GroupRank& e) { return peer_of(e) < e.ranks; }
};

/// Pairs that have many messages in flight in a repetition. All are sent from one buffer. Each is received
/// into its own memory, because pending receives must not share memory. Source: MPI 4.1, section 3.7.
struct PairsInFlight : Pairs {
  template <SendMode mode = SendMode::standard, class C>
  static void start_sends(const C& c, const Iteration& it, MPI_Request* requests) {
    for (int i = 0; i < c.in_flight; ++i) {
      call::isend<mode>(it.send, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm, &requests[i]);
    }
  }
  template <class C>
  static void start_receives(const C& c, const Iteration& it, MPI_Request* requests) {
    for (int i = 0; i < c.in_flight; ++i) {
      call::irecv(it.receive + i * c.message_stride, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm,
                  &requests[i]);
    }
  }
};

inline constexpr std::string_view no_reply_reason =
    "without a message back, its sender does not know which receives are complete";

/// The first rank of each pair sends all messages in flight to the second.
struct Uniband : PairsInFlight {
  static constexpr Spec spec{.name = "Uniband",
                             .kind = Kind::parallel_transfer,
                             .table = &tables::rate,
                             .receive = Messages::in_flight,
                             .message_rate = true,
                             .min_processes = 2,
                             .send_modes = {.any = true, .not_buffered = no_reply_reason},
                             .in_default_list = false};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    if (c.rank < c.peer) {
      start_sends<mode>(c, it, c.requests);
    } else {
      start_receives(c, it, c.requests);
    }
    MPI_Waitall(c.in_flight, c.requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) {
    return is_first_of_pair(e) ? ExpectedContents{} : messages_in_flight(e, peer_of(e));
  }
};

/// Both ranks of each pair send messages in flight to each other.
struct Biband : PairsInFlight {
  static constexpr Spec spec{.name = "Biband",
                             .kind = Kind::parallel_transfer,
                             .table = &tables::rate,
                             .receive = Messages::in_flight,
                             .messages_per_process = 2,
                             .message_rate = true,
                             .min_processes = 2,
                             .send_modes = every_send_mode,
                             .in_default_list = false};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    start_receives(c, it, c.requests);
    start_sends<mode>(c, it, c.requests + c.in_flight);
    MPI_Waitall(2 * c.in_flight, c.requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) { return messages_in_flight(e, peer_of(e)); }
};

}  // namespace openimb
