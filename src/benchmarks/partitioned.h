// Partitioned communication: a message consists of parts (partitions), and MPI may send each part as soon as
// it is marked ready. Source: MPI 4.0, chapter 4.
#pragma once

#include "benchmarks/persistent.h"
#include "engine/marking.h"
#include "mpi/partitioned.h"

namespace openimb {

/// The Spec of a partitioned benchmark, made from the Spec `whole` of the benchmark with ordinary messages.
constexpr Spec partitioned_spec(const Spec& whole, std::string_view name, int requests_per_slot) {
  Spec spec = persistent_spec(whole, name, requests_per_slot);
  spec.partitioned = true;
  spec.needs = "Psend_init";
  spec.unavailable = call::no_partitions_reason;
  return spec;
}

/// Marks parts 0 to `parts` - 1 of `messages` messages ready, one after another or by the threads of a team.
template <int messages, class C>
void pready_all(const C& c, const MPI_Request* requests, int parts) {
  if constexpr (requires { c.marking; }) {
    c.marking->mark(requests, messages, parts);
  } else {
    const MPI_Request request = *requests;
    for (int part = 0; part < parts; ++part) call::pready(part, request);
    if constexpr (messages > 1) pready_all<messages - 1>(c, requests + 1, parts);
  }
}
template <class C>
void send_parts(const C& c, MPI_Request* request, int parts) {
  MPI_Start(request);
  pready_all<1>(c, request, parts);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

/// PingPong with a partitioned send and a partitioned receive.
struct Partitioned_PingPong : PatternBase {
  static constexpr Spec spec = partitioned_spec(PingPong::spec, "Partitioned_PingPong", 2);
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    PartitionedRequests<2> requests(parts_of(c.count, c.me->partitions));
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const call::Parts parts{requests.parts(), c.count / requests.parts(), c.type, c.comm};
      call::psend_init(plan.at(slot).send, parts, c.peer, message_tag, requests.add());
      call::precv_init(plan.at(slot).receive, parts, c.peer, message_tag, requests.add());
    }
    return requests;
  }
  template <class C>
  static void step(const C& c, const Iteration& it, PartitionedRequests<2>::View view) {
    MPI_Request* const requests = view.of(it.slot);  // send, receive
    if (c.rank == 0) {
      MPI_Start(requests + 1);
      send_parts(c, requests, view.parts);
      MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
    } else {
      MPI_Start(requests + 1);
      MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
      send_parts(c, requests, view.parts);
    }
  }
  static ExpectedContents expects(const GroupRank& e) { return message_of(e, 1 - e.rank); }
};

/// The calls before (`post`) and after (`finish`) the computation, which delays the last part of a message.
struct LatePart : Partitioned_PingPong {
  template <class C>
  static void post(const C& c, const Iteration& it, PartitionedRequests<2>::View view, MPI_Request* send) {
    MPI_Request* const requests = view.of(it.slot);  // send, receive
    MPI_Start(requests + 1);
    if (c.rank != 0) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
    MPI_Start(requests);
    pready_all<1>(c, requests, view.parts - 1);
    *send = *requests;
  }
  template <class C>
  static void finish(const C& c, const Iteration& it, PartitionedRequests<2>::View view, MPI_Request*) {
    MPI_Request* const requests = view.of(it.slot);
    call::pready(view.parts - 1, *requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    if (c.rank == 0) MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
  }
};

/// Partitioned_PingPong in which the last part is late. The overlap is the transfer of the other parts while
/// the sender computes.
struct Partitioned_overlap : LatePart {
  static constexpr Spec spec = [] {
    Spec spec = also_named("Partitioned_overlap", Partitioned_PingPong::spec);
    spec.table = &tables::overlap;
    spec.overlap = Overlap::matched;
    return spec;
  }();
};

/// Exchange with partitioned messages.
struct Partitioned_Exchange : PatternBase {
  static constexpr Spec spec = partitioned_spec(Exchange::spec, "Partitioned_Exchange", 4);
  template <class C>
  static auto prepare(const C& c, const IterationPlan& plan) {
    PartitionedRequests<4> requests(parts_of(c.count, c.me->partitions));
    for (std::int64_t slot = 0; slot < plan.slots; ++slot) {
      const Iteration it = plan.at(slot);
      const call::Parts parts{requests.parts(), c.count / requests.parts(), c.type, c.comm};
      call::precv_init(it.receive, parts, c.left, to_right, requests.add());
      call::precv_init(it.receive + c.message_stride, parts, c.right, to_left, requests.add());
      call::psend_init(it.send, parts, c.right, to_right, requests.add());
      call::psend_init(it.send + c.message_stride, parts, c.left, to_left, requests.add());
    }
    return requests;
  }
  template <class C>
  static void step(const C& c, const Iteration& it, PartitionedRequests<4>::View view) {
    MPI_Request* const requests = view.of(it.slot);  // two receives, two sends
    MPI_Startall(4, requests);
    pready_all<2>(c, requests + 2, view.parts);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  static ExpectedContents expects(const GroupRank& e) { return Exchange::expects(e); }
};

}  // namespace openimb
