// Single transfer benchmarks: two processes. Source: guide, "Single Transfer Benchmarks".
#pragma once

#include "engine/pattern.h"

namespace openimb {

template <class C>
void send_message(const C& c, const Lap& lap) {
  call::send(lap.send, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm);
}
template <class C>
void receive_message(const C& c, const Lap& lap, int source) {
  call::receive(lap.receive, c.count, c.type, source, tag_of(c, message_tag), c.comm);
}

struct PingPong {
  static constexpr Spec spec{.name = "PingPong", .kind = Kind::single_transfer, .time_factor = 0.5};
  template <class C>
  static void step(const C& c, const Lap& lap, int source = MPI_ANY_SOURCE) {
    if (c.rank < c.peer) {
      send_message(c, lap);
      receive_message(c, lap, source);
    } else {
      receive_message(c, lap, source);
      send_message(c, lap);
    }
  }
  static Expected expects(const Endpoint& e) { return message_of(e, 1 - e.rank); }
};

struct PingPongSpecificSource : PingPong {
  static constexpr Spec spec{.name = "PingPongSpecificSource",
                             .kind = Kind::single_transfer,
                             .time_factor = 0.5,
                             .in_default_list = false};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    PingPong::step(c, lap, c.peer);
  }
};

/// The receiver finds the message first, and receives that one. Source: MPI 3.1, section 3.8.2.
struct PingPong_mprobe {
  static constexpr Spec spec{.name = "PingPong_mprobe",
                             .kind = Kind::single_transfer,
                             .time_factor = 0.5,
                             .in_default_list = false,
                             .needs = "Mprobe",
                             .unavailable = call::why_no_matched_probe};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    if (c.rank == 0) send_message(c, lap);
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, message_tag, c.comm, &message, MPI_STATUS_IGNORE);
    call::receive_found(lap.receive, c.count, c.type, &message);
    if (c.rank != 0) send_message(c, lap);
  }
  static Expected expects(const Endpoint& e) { return message_of(e, 1 - e.rank); }
};

struct PingPing {
  static constexpr Spec spec{.name = "PingPing", .kind = Kind::single_transfer};
  template <class C>
  static void step(const C& c, const Lap& lap, int source = MPI_ANY_SOURCE) {
    MPI_Request request;
    call::start_send(lap.send, c.count, c.type, c.peer, tag_of(c, message_tag), c.comm, &request);
    receive_message(c, lap, source);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  static Expected expects(const Endpoint& e) { return message_of(e, 1 - e.rank); }
};

struct PingPingSpecificSource : PingPing {
  static constexpr Spec spec{
      .name = "PingPingSpecificSource", .kind = Kind::single_transfer, .in_default_list = false};
  template <class C>
  static void step(const C& c, const Lap& lap) {
    PingPing::step(c, lap, c.peer);
  }
};

}  // namespace openimb
