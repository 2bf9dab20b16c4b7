// IMB-MT: benchmarks of MPI-1 run by several threads of each process, each with the same thread of its
// partners. The order is that of the reference outputs; what IMB 2021 has but does not build is off by
// default. Source: public user guide of IMB 2021, "Multithreaded MPI-1 Benchmarks".
#pragma once

#include "benchmarks/catalogue.h"
#include "benchmarks/collective.h"
#include "benchmarks/parallel_transfer.h"
#include "benchmarks/single_transfer.h"

namespace openimb {

/// The pattern's own calls, in the loop that it has in IMB-MPI1.
template <class Pattern>
struct Threaded : Pattern {
  using Loop = Pattern;
};
/// A single transfer by many pairs of processes at once.
template <class Pattern>
struct ThreadedPairs : Threaded<Pattern>, Pairs {
  static constexpr Members members = listed_members<Pattern>() | Pairs::members;
  static Expected expects(const Endpoint& e) { return message_of(e, Pairs::peer_of(e)); }
};

constexpr Spec threaded(Spec spec, std::string_view name) {
  spec.name = name;
  spec.threaded = true;
  spec.send_modes = {};  // MPI_Buffer_attach is of the process
  spec.packs = false;
  spec.in_default_list = true;
  if (spec.message_rate) spec.table = &tables::message;
  if (spec.kind == Kind::single_transfer) {
    spec.kind = Kind::parallel_transfer;
    spec.table = &tables::range_and_bandwidth;
    spec.min_processes = 2;
  }
  return spec;
}

struct PingPongMT : ThreadedPairs<PingPong> {
  static constexpr Spec spec = threaded(PingPong::spec, "PingPongMT");
};
struct PingPingMT : ThreadedPairs<PingPing> {
  static constexpr Spec spec = threaded(PingPing::spec, "PingPingMT");
};
struct SendRecvMT : Threaded<Sendrecv> {
  static constexpr Spec spec = threaded(Sendrecv::spec, "SendRecvMT");
};
struct ExchangeMT : Threaded<Exchange> {
  static constexpr Spec spec = threaded(Exchange::spec, "ExchangeMT");
};
struct UniBandMT : Threaded<Uniband> {
  static constexpr Spec spec = threaded(Uniband::spec, "UniBandMT");
};
struct BiBandMT : Threaded<Biband> {
  static constexpr Spec spec = threaded(Biband::spec, "BiBandMT");
};
struct BarrierMT : Threaded<Barrier> {
  static constexpr Spec spec = threaded(Barrier::spec, "BarrierMT");
};
struct BcastMT : Threaded<Bcast> {
  static constexpr Spec spec = threaded(Bcast::spec, "BcastMT");
};
struct ReduceMT : Threaded<Reduce> {
  static constexpr Spec spec = threaded(Reduce::spec, "ReduceMT");
};
struct AllReduceMT : Threaded<Allreduce> {
  static constexpr Spec spec = threaded(Allreduce::spec, "AllReduceMT");
};
struct ScatterMT : Threaded<Scatter> {
  static constexpr Spec spec = off_by_default(threaded(Scatter::spec, "ScatterMT"));
};
struct ScattervMT : Threaded<Scatterv> {
  static constexpr Spec spec = off_by_default(threaded(Scatterv::spec, "ScattervMT"));
};
struct GatherMT : Threaded<Gather> {
  static constexpr Spec spec = off_by_default(threaded(Gather::spec, "GatherMT"));
};
struct GathervMT : Threaded<Gatherv> {
  static constexpr Spec spec = off_by_default(threaded(Gatherv::spec, "GathervMT"));
};
struct AllgatherMT : Threaded<Allgather> {
  static constexpr Spec spec = off_by_default(threaded(Allgather::spec, "AllgatherMT"));
};
struct AllgathervMT : Threaded<Allgatherv> {
  static constexpr Spec spec = off_by_default(threaded(Allgatherv::spec, "AllgathervMT"));
};
struct AlltoallMT : Threaded<Alltoall> {
  static constexpr Spec spec = off_by_default(threaded(Alltoall::spec, "AlltoallMT"));
};
struct AlltoallvMT : Threaded<Alltoallv> {
  static constexpr Spec spec = off_by_default(threaded(Alltoallv::spec, "AlltoallvMT"));
};
struct ReduceScatterMT : Threaded<Reduce_scatter> {
  static constexpr Spec spec = off_by_default(threaded(Reduce_scatter::spec, "ReduceScatterMT"));
};

using Mt = Catalogue<PingPongMT, PingPingMT, SendRecvMT, ExchangeMT, UniBandMT, BiBandMT, BarrierMT, BcastMT,
                     ReduceMT, AllReduceMT, ScatterMT, ScattervMT, GatherMT, GathervMT, AllgatherMT,
                     AllgathervMT, AlltoallMT, AlltoallvMT, ReduceScatterMT>;

}  // namespace openimb
