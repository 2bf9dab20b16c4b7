// Persistent communication: requests are made once for a point, started and completed in each repetition.
// Source: MPI 4.0, sections 3.9 and 6.13.
#pragma once

#include <string_view>

#include "benchmarks/nonblocking.h"
#include "benchmarks/parallel_transfer.h"
#include "mpi/persistent.h"

namespace openimb {

/// A send to the peer and a receive from it.
struct PingPong_persist {
  static constexpr Spec spec{.name = "PingPong_persist",
                             .kind = Kind::single_transfer,
                             .time_factor = 0.5,
                             .in_default_list = false};
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    PersistentRequests<2> requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Lap lap = plan.at(slot);
      call::prepare_send(lap.send, c.count, c.type, c.peer, message_tag, c.comm, requests.add());
      call::prepare_receive(lap.receive, c.count, c.type, c.peer, message_tag, c.comm, requests.add());
    }
    return requests;
  }
  template <class C>
  static void step(const C& c, const Lap& lap, PersistentRequests<2>::View all) {
    MPI_Request* const requests = all.of(lap.slot);  // send, receive
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

/// Requests that a repetition starts and completes together.
template <int count>
struct StartedTogether {
  using Requests = PersistentRequests<count>;
  template <class C>
  static void step(const C&, const Lap& lap, typename Requests::View all) {
    MPI_Startall(count, all.of(lap.slot));
    MPI_Waitall(count, all.of(lap.slot), MPI_STATUSES_IGNORE);
  }
};

/// The transfer of Sendrecv.
struct Sendrecv_persist : StartedTogether<2> {
  static constexpr Spec spec{
      .name = "Sendrecv_persist", .kind = Kind::parallel_transfer, .turnover = 2, .in_default_list = false};
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Lap lap = plan.at(slot);
      call::prepare_receive(lap.receive, c.count, c.type, c.left, message_tag, c.comm, requests.add());
      call::prepare_send(lap.send, c.count, c.type, c.right, message_tag, c.comm, requests.add());
    }
    return requests;
  }
  static Expected expects(const Endpoint& e) { return Sendrecv::expects(e); }
};

/// The transfers of Exchange.
struct Exchange_persist : StartedTogether<4> {
  static constexpr Spec spec{.name = "Exchange_persist",
                             .kind = Kind::parallel_transfer,
                             .send = Extent::two,
                             .receive = Extent::two,
                             .turnover = 4,
                             .in_default_list = false};
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Lap lap = plan.at(slot);
      call::prepare_receive(lap.receive, c.count, c.type, c.left, to_right, c.comm, requests.add());
      call::prepare_receive(lap.receive + c.span, c.count, c.type, c.right, to_left, c.comm, requests.add());
      call::prepare_send(lap.send, c.count, c.type, c.right, to_right, c.comm, requests.add());
      call::prepare_send(lap.send + c.span, c.count, c.type, c.left, to_left, c.comm, requests.add());
    }
    return requests;
  }
  static Expected expects(const Endpoint& e) { return Exchange::expects(e); }
};

/// What all persistent collectives repeat.
struct PersistentCollective {
  using Requests = PersistentRequests<1>;
  template <class C>
  static void post(const C&, const Lap& lap, Requests::View all, MPI_Request* request) {
    *request = *all.of(lap.slot);
    MPI_Start(request);
  }
  template <class C>
  static void step(const C&, const Lap& lap, Requests::View all) {
    MPI_Start(all.of(lap.slot));
    MPI_Wait(all.of(lap.slot), MPI_STATUS_IGNORE);
  }
};

/// The blocking collective, made persistent. A request has one root: rank 0.
template <class Blocking>
struct Persistent {
  using Loop = PersistentCollective;
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    Loop::Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      Blocking::step(c, plan.at(slot), call::MakePersistent{requests.add()});
    }
    return requests;
  }
  static Expected expects(const Endpoint& e) { return Blocking::expects(e); }
};

/// `name`: of the benchmark; `call`: what makes the request, without "MPI_".
constexpr Spec persistent(Spec spec, std::string_view name, std::string_view call) {
  spec.name = name;
  spec.needs = call;
  spec.unavailable = call::why_no_persistent_collectives;
  spec.rooted = false;
  spec.packs = false;
  return spec;
}

#define OPENIMB_PERSISTENT(Name)                                                                          \
  struct Name##_persist : Persistent<Name> {                                                              \
    static constexpr Spec spec = persistent(overlapped(Name::spec, {}), #Name "_persist", #Name "_init"); \
  };                                                                                                      \
  struct Name##_persist_pure : Persistent<Name> {                                                         \
    static constexpr Spec spec =                                                                          \
        off_by_default(persistent(Name::spec, #Name "_persist_pure", #Name "_init"));                     \
  };
OPENIMB_PERSISTENT(Bcast)
OPENIMB_PERSISTENT(Allgatherv)
OPENIMB_PERSISTENT(Gather)
OPENIMB_PERSISTENT(Gatherv)
OPENIMB_PERSISTENT(Scatter)
OPENIMB_PERSISTENT(Scatterv)
OPENIMB_PERSISTENT(Alltoall)
OPENIMB_PERSISTENT(Alltoallv)
OPENIMB_PERSISTENT(Reduce)
OPENIMB_PERSISTENT(Reduce_scatter)
OPENIMB_PERSISTENT(Allreduce)
OPENIMB_PERSISTENT(Barrier)
#undef OPENIMB_PERSISTENT

// Off by default, as in IMB.
struct Allgather_persist : Persistent<Allgather> {
  static constexpr Spec spec =
      off_by_default(persistent(overlapped(Allgather::spec, {}), "Allgather_persist", "Allgather_init"));
};
struct Allgather_persist_pure : Persistent<Allgather> {
  static constexpr Spec spec =
      off_by_default(persistent(Allgather::spec, "Allgather_persist_pure", "Allgather_init"));
};

}  // namespace openimb
