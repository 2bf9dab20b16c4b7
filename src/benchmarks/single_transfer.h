// Single transfer benchmarks, which use two ranks. Source: guide, "Single Transfer Benchmarks".
#pragma once

#include "engine/pattern.h"

namespace openimb {

template <SendMode mode = SendMode::standard, class C>
void send_message(const C& c, const Iteration& it) {
  call::send<mode>(it.send, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm);
}
template <class C>
void receive_message(const C& c, const Iteration& it, int source) {
  call::recv(it.receive, c.count, c.type, source, tag_of(c, message_tag), c.comm);
}

/// A message from rank 0 to rank 1 and back. The time shown is half of a round trip.
struct PingPong : PatternBase {
  static constexpr Spec spec{
      .name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5, .send_modes = every_send_mode};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it, int source = MPI_ANY_SOURCE) {
    if (c.rank < c.peer) {
      send_message<mode>(c, it);
      receive_message(c, it, source);
    } else {
      receive_message(c, it, source);
      send_message<mode>(c, it);
    }
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, 1 - e.rank); }
};

struct PingPongSpecificSource : PingPong {
  static constexpr Spec spec = also_named("PingPongSpecificSource", PingPong::spec);
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    PingPong::step<mode>(c, it, c.peer);
  }
};

/// PingPong in which the receiver probes for a message (MPI_Mprobe) and receives the matched one. Source: MPI
/// 3.1, section 3.8.2.
struct PingPong_mprobe : PatternBase {
  static constexpr Spec spec{.name = "PingPong_mprobe",
                             .kind = Kind::single_transfer,
                             .time_factor = 0.5,
                             .send_modes = every_send_mode,
                             .in_default_list = false,
                             .needs = "Mprobe",
                             .unavailable = call::no_matched_probe_reason};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    if (c.rank == 0) send_message<mode>(c, it);
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, message_tag, c.comm, &message, MPI_STATUS_IGNORE);
    call::mrecv(it.receive, c.count, c.type, &message);
    if (c.rank != 0) send_message<mode>(c, it);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, 1 - e.rank); }
};

/// Both ranks send a message at the same time, so that each message meets one in the other direction.
struct PingPing : PatternBase {
  static constexpr Spec spec{
      .name = "PingPing", .kind = Kind::single_transfer, .send_modes = every_send_mode};
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it, int source = MPI_ANY_SOURCE) {
    MPI_Request request;
    call::isend<mode>(it.send, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm, &request);
    receive_message(c, it, source);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, 1 - e.rank); }
};

struct PingPingSpecificSource : PingPing {
  static constexpr Spec spec = also_named("PingPingSpecificSource", PingPing::spec);
  template <SendMode mode = SendMode::standard, class C>
  static void step(const C& c, const Iteration& it) {
    PingPing::step<mode>(c, it, c.peer);
  }
};

}  // namespace openimb
