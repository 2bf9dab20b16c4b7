// IMB-RMA: one-sided transfers with a request of their own.
#pragma once

#include "benchmarks/passive_target.h"

namespace openimb {

/// A transfer of rank 0 that has a request, and the wait for it: complete at the origin, as with
/// MPI_Win_flush_local; at the target when the lock around the batch is released. Source: MPI 4.1,
/// section 12.3.5.
constexpr Spec with_request(Spec spec, std::string_view name) {
  spec.name = spec.needs = name;
  spec.aggregation = Aggregation::none;
  spec.one_sided.sync = SyncMode::standard;
  spec.one_sided.any_sync = false;
  return off_by_default(spec);
}

/// What all repeat around `start`, which begins the transfer: target displacement, then request.
template <class Transfer>
struct WithRequest : LockedPeer<OneWay> {
  template <class C>
  static void step(const C& c, const Lap& lap) {
    MPI_Request request;
    Transfer::start(c, lap, place_at(c, lap, c.peer_base, 0), &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
};

struct Rput : WithRequest<Rput> {
  static constexpr Spec spec = with_request(pair("", Put::exposed), "Rput");
  template <class C>
  static void start(const C& c, const Lap& lap, MPI_Aint at, MPI_Request* request) {
    call::request_put(lap.send, c.count, c.type, c.peer, at, c.win, request);
  }
  static Expected expects(const Endpoint& e) { return moved_by_pair<Put, OneWay>(e); }
};

struct Rget : WithRequest<Rget> {
  static constexpr Spec spec = with_request(pair("", Get::exposed), "Rget");
  template <class C>
  static void start(const C& c, const Lap& lap, MPI_Aint at, MPI_Request* request) {
    call::request_get(lap.receive, c.count, c.type, c.peer, at, c.win, request);
  }
  static Expected expects(const Endpoint& e) { return moved_by_pair<Get, OneWay>(e); }
};

struct Raccumulate : WithRequest<Raccumulate> {
  static constexpr Spec spec = with_request(atomic(""), "Raccumulate");
  template <class C>
  static void start(const C& c, const Lap& lap, MPI_Aint at, MPI_Request* request) {
    call::request_accumulate(lap.send, c.count, c.type, c.peer, at, c.op, c.win, request);
  }
  static constexpr Members members = LockedPeer<OneWay>::members | Members{.updates = true};
  static bool updates(const Endpoint& e) { return updates_of_rank_1(e); }
  static Expected expects(const Endpoint& e) { return Accumulate::expects(e); }
};

struct Rget_accumulate : WithRequest<Rget_accumulate> {
  static constexpr Spec spec = [] {
    Spec spec = with_request(atomic(""), "Rget_accumulate");
    spec.unavailable = call::why_no_request_get_accumulate;
    return spec;
  }();
  template <class C>
  static void start(const C& c, const Lap& lap, MPI_Aint at, MPI_Request* request) {
    call::request_get_accumulate(lap.send, lap.receive, c.count, c.type, c.peer, at, c.op, c.win, request);
  }
  static constexpr Members members = LockedPeer<OneWay>::members | Members{.updates = true};
  static bool updates(const Endpoint& e) { return updates_of_rank_1(e); }
  static Expected expects(const Endpoint& e) { return Get_accumulate::expects(e); }
};

}  // namespace openimb
