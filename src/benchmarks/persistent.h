// Persistent point-to-point communication. Source: MPI 3.1, section 3.9.
#pragma once

#include "engine/pattern.h"
#include "mpi/persistent.h"

namespace openimb {

/// A send to the peer and a receive from it, prepared once.
struct PingPong_persist {
  static constexpr Spec spec{.name = "PingPong_persist",
                             .kind = Kind::single_transfer,
                             .time_factor = 0.5,
                             .in_default_list = false};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    PersistentPairs pairs;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Lap lap = plan.at(slot);
      call::prepare_send(lap.send, c.count, c.type, c.peer, message_tag, c.comm, pairs.add_send());
      call::prepare_receive(lap.receive, c.count, c.type, c.peer, message_tag, c.comm, pairs.add_receive());
    }
    return pairs;
  }
  template <class C>
  static void step(const C& c, const Lap& lap, PersistentPairs::View pairs) {
    MPI_Request* const requests = pairs.of(lap.slot);  // send, receive
    if (c.rank == 0) {
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      MPI_Start(requests + 1);
      MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
      MPI_Start(requests);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
    }
  }
  static Expected expects(const Endpoint& e) { return message_of(e, 1 - e.rank); }
};

}  // namespace openimb
