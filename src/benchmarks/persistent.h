// Persistent point-to-point messages. Requests are created once for a point, and each repetition starts and
// completes them. forms.h has persistent collectives. Source: MPI 4.0, section 3.9.
#pragma once

#include "benchmarks/parallel_transfer.h"
#include "benchmarks/single_transfer.h"
#include "mpi/persistent.h"

namespace openimb {

/// The Spec of a persistent benchmark, made from the Spec of the benchmark with ordinary calls.
constexpr Spec persistent_spec(Spec spec, std::string_view name, int requests_per_slot) {
  spec.requests_per_slot = requests_per_slot;
  spec.send_modes = {};
  return also_named(name, spec);
}

/// PingPong with a persistent send and a persistent receive.
struct PingPong_persist : PatternBase {
  static constexpr Spec spec = persistent_spec(PingPong::spec, "PingPong_persist", 2);
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    PersistentRequests<2> requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Iteration it = plan.at(slot);
      call::send_init(it.send, c.count, c.type, c.peer, message_tag, c.comm, requests.add());
      call::recv_init(it.receive, c.count, c.type, c.peer, message_tag, c.comm, requests.add());
    }
    return requests;
  }
  template <class C>
  static void step(const C& c, const Iteration& it, PersistentRequests<2>::View view) {
    MPI_Request* const requests = view.of(it.slot);  // send, receive
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
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, 1 - e.rank); }
};

/// A loop whose repetitions start and complete all requests together.
template <int count>
struct StartAllLoop : PatternBase {
  using Requests = PersistentRequests<count>;
  template <class C>
  static void step(const C&, const Iteration& it, typename Requests::View view) {
    MPI_Startall(count, view.of(it.slot));
    MPI_Waitall(count, view.of(it.slot), MPI_STATUSES_IGNORE);
  }
};

/// Sendrecv with persistent requests.
struct Sendrecv_persist : StartAllLoop<2> {
  static constexpr Spec spec = persistent_spec(Sendrecv::spec, "Sendrecv_persist", 2);
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Iteration it = plan.at(slot);
      call::recv_init(it.receive, c.count, c.type, c.left, message_tag, c.comm, requests.add());
      call::send_init(it.send, c.count, c.type, c.right, message_tag, c.comm, requests.add());
    }
    return requests;
  }
  static ExpectedContents expects(const GroupRank& e) { return Sendrecv::expects(e); }
};

/// Exchange with persistent requests.
struct Exchange_persist : StartAllLoop<4> {
  static constexpr Spec spec = persistent_spec(Exchange::spec, "Exchange_persist", 4);
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    Requests requests;
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Iteration it = plan.at(slot);
      call::recv_init(it.receive, c.count, c.type, c.left, to_right, c.comm, requests.add());
      call::recv_init(it.receive + c.message_stride, c.count, c.type, c.right, to_left, c.comm,
                      requests.add());
      call::send_init(it.send, c.count, c.type, c.right, to_right, c.comm, requests.add());
      call::send_init(it.send + c.message_stride, c.count, c.type, c.left, to_left, c.comm, requests.add());
    }
    return requests;
  }
  static ExpectedContents expects(const GroupRank& e) { return Exchange::expects(e); }
};

}  // namespace openimb
