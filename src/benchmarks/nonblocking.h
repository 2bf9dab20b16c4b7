// Nonblocking collectives: what the blocking one does, started, and waited for. The engine computes in
// between where a spec asks for it. Source: guide, "IMB-NBC Benchmarks".
#pragma once

#include "benchmarks/collective.h"
#include "benchmarks/neighborhood.h"

namespace openimb {

/// What the blocking one prepares, if anything.
template <class Blocking>
struct PreparedAs {};
template <class Blocking>
  requires(listed_members<Blocking>().prepare)
struct PreparedAs<Blocking> {
  static constexpr Members members{.prepare = true};
  template <class C>
  static auto prepare(const C& c, const LapPlan& plan) {
    return Blocking::prepare(c, plan);
  }
};

template <class Blocking>
struct Nonblocking : PreparedAs<Blocking> {
  using Loop = Nonblocking;
  template <class C, class... ViewAndRequest>
  static void post(const C& c, const Lap& lap, ViewAndRequest... view_and_request) {
    Blocking::step(c, lap, view_and_request...);
  }
  template <class C, class... View>
  static void step(const C& c, const Lap& lap, View... view) {
    MPI_Request request;
    post(c, lap, view..., &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  static Expected expects(const Endpoint& e) { return Blocking::expects(e); }
};

/// Measures overlap with computation. `name` is the call's.
constexpr Spec overlapped(Spec spec, std::string_view name) {
  spec.name = spec.needs = name;
  spec.overlap = Overlap::matched;
  spec.table = &tables::overlap;
  spec.packs = false;
  return spec;
}

/// Measures communication alone. `name` begins with the call's.
constexpr Spec pure(Spec spec, std::string_view name) {
  spec.name = name;
  spec.needs = name.substr(0, name.rfind('_'));
  spec.packs = false;
  return off_by_default(spec);
}

struct Ibcast : Nonblocking<Bcast> {
  static constexpr Spec spec = overlapped(Bcast::spec, "Ibcast");
};
struct Ibcast_pure : Nonblocking<Bcast> {
  static constexpr Spec spec = pure(Bcast::spec, "Ibcast_pure");
};
struct Iallgather : Nonblocking<Allgather> {
  static constexpr Spec spec = overlapped(Allgather::spec, "Iallgather");
};
struct Iallgather_pure : Nonblocking<Allgather> {
  static constexpr Spec spec = pure(Allgather::spec, "Iallgather_pure");
};
struct Iallgatherv : Nonblocking<Allgatherv> {
  static constexpr Spec spec = overlapped(Allgatherv::spec, "Iallgatherv");
};
struct Iallgatherv_pure : Nonblocking<Allgatherv> {
  static constexpr Spec spec = pure(Allgatherv::spec, "Iallgatherv_pure");
};
struct Igather : Nonblocking<Gather> {
  static constexpr Spec spec = overlapped(Gather::spec, "Igather");
};
struct Igather_pure : Nonblocking<Gather> {
  static constexpr Spec spec = pure(Gather::spec, "Igather_pure");
};
struct Igatherv : Nonblocking<Gatherv> {
  static constexpr Spec spec = overlapped(Gatherv::spec, "Igatherv");
};
struct Igatherv_pure : Nonblocking<Gatherv> {
  static constexpr Spec spec = pure(Gatherv::spec, "Igatherv_pure");
};
struct Iscatter : Nonblocking<Scatter> {
  static constexpr Spec spec = overlapped(Scatter::spec, "Iscatter");
};
struct Iscatter_pure : Nonblocking<Scatter> {
  static constexpr Spec spec = pure(Scatter::spec, "Iscatter_pure");
};
struct Iscatterv : Nonblocking<Scatterv> {
  static constexpr Spec spec = overlapped(Scatterv::spec, "Iscatterv");
};
struct Iscatterv_pure : Nonblocking<Scatterv> {
  static constexpr Spec spec = pure(Scatterv::spec, "Iscatterv_pure");
};
struct Ialltoall : Nonblocking<Alltoall> {
  static constexpr Spec spec = overlapped(Alltoall::spec, "Ialltoall");
};
struct Ialltoall_pure : Nonblocking<Alltoall> {
  static constexpr Spec spec = pure(Alltoall::spec, "Ialltoall_pure");
};
struct Ialltoallv : Nonblocking<Alltoallv> {
  static constexpr Spec spec = overlapped(Alltoallv::spec, "Ialltoallv");
};
struct Ialltoallv_pure : Nonblocking<Alltoallv> {
  static constexpr Spec spec = pure(Alltoallv::spec, "Ialltoallv_pure");
};
struct Ireduce : Nonblocking<Reduce> {
  static constexpr Spec spec = overlapped(Reduce::spec, "Ireduce");
};
struct Ireduce_pure : Nonblocking<Reduce> {
  static constexpr Spec spec = pure(Reduce::spec, "Ireduce_pure");
};
struct Ireduce_scatter : Nonblocking<Reduce_scatter> {
  static constexpr Spec spec = overlapped(Reduce_scatter::spec, "Ireduce_scatter");
};
struct Ireduce_scatter_pure : Nonblocking<Reduce_scatter> {
  static constexpr Spec spec = pure(Reduce_scatter::spec, "Ireduce_scatter_pure");
};
struct Iallreduce : Nonblocking<Allreduce> {
  static constexpr Spec spec = overlapped(Allreduce::spec, "Iallreduce");
};
struct Iallreduce_pure : Nonblocking<Allreduce> {
  static constexpr Spec spec = pure(Allreduce::spec, "Iallreduce_pure");
};
struct Ibarrier : Nonblocking<Barrier> {
  static constexpr Spec spec = overlapped(Barrier::spec, "Ibarrier");
};
struct Ibarrier_pure : Nonblocking<Barrier> {
  static constexpr Spec spec = pure(Barrier::spec, "Ibarrier_pure");
};

struct Iscan : Nonblocking<Scan> {
  static constexpr Spec spec = overlapped(Scan::spec, "Iscan");
};
struct Iscan_pure : Nonblocking<Scan> {
  static constexpr Spec spec = pure(Scan::spec, "Iscan_pure");
};
struct Iexscan : Nonblocking<Exscan> {
  static constexpr Spec spec = overlapped(Exscan::spec, "Iexscan");
};
struct Iexscan_pure : Nonblocking<Exscan> {
  static constexpr Spec spec = pure(Exscan::spec, "Iexscan_pure");
};
struct Ialltoallw : Nonblocking<Alltoallw> {
  static constexpr Spec spec = overlapped(Alltoallw::spec, "Ialltoallw");
};
struct Ialltoallw_pure : Nonblocking<Alltoallw> {
  static constexpr Spec spec = pure(Alltoallw::spec, "Ialltoallw_pure");
};

#define OPENIMB_INEIGHBOR(name)                                                           \
  struct Ineighbor_##name : Nonblocking<Neighbor_##name> {                                \
    static constexpr Spec spec = overlapped(Neighbor_##name::spec, "Ineighbor_" #name);   \
  };                                                                                      \
  struct Ineighbor_##name##_pure : Nonblocking<Neighbor_##name> {                         \
    static constexpr Spec spec = pure(Neighbor_##name::spec, "Ineighbor_" #name "_pure"); \
  };
OPENIMB_INEIGHBOR(allgather)
OPENIMB_INEIGHBOR(allgatherv)
OPENIMB_INEIGHBOR(alltoall)
OPENIMB_INEIGHBOR(alltoallv)
OPENIMB_INEIGHBOR(alltoallw)
#undef OPENIMB_INEIGHBOR

}  // namespace openimb
