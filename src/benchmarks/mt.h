// The catalog of IMB-MT: benchmarks of IMB-MPI1 that several threads of each process run, in the order of the
// reference outputs. Benchmarks that IMB 2021 has but does not build are off by default. Source: public user
// guide of IMB 2021, "Multithreaded MPI-1 Benchmarks".
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/collective.h"
#include "benchmarks/forms.h"
#include "benchmarks/parallel_transfer.h"
#include "benchmarks/single_transfer.h"

namespace openimb {

inline constexpr ComponentFacts mt_facts{
    .name = "MT", .title = "MT part", .defaults = thread_defaults, .style = OutputStyle::threads};

// clang-format off
using Mt = Catalog<
    Threaded<"PingPongMT", PingPong>,
    Threaded<"PingPingMT", PingPing>,
    Threaded<"SendRecvMT", Sendrecv>,
    Threaded<"ExchangeMT", Exchange>,
    Threaded<"UniBandMT", Uniband>,
    Threaded<"BiBandMT", Biband>,
    Threaded<"BarrierMT", Barrier>,
    Threaded<"BcastMT", Bcast>,
    Threaded<"ReduceMT", Reduce>,
    Threaded<"AllReduceMT", Allreduce>,
    OffByDefault<Threaded<"ScatterMT", Scatter>>,
    OffByDefault<Threaded<"ScattervMT", Scatterv>>,
    OffByDefault<Threaded<"GatherMT", Gather>>,
    OffByDefault<Threaded<"GathervMT", Gatherv>>,
    OffByDefault<Threaded<"AllgatherMT", Allgather>>,
    OffByDefault<Threaded<"AllgathervMT", Allgatherv>>,
    OffByDefault<Threaded<"AlltoallMT", Alltoall>>,
    OffByDefault<Threaded<"AlltoallvMT", Alltoallv>>,
    OffByDefault<Threaded<"ReduceScatterMT", Reduce_scatter>>>;
// clang-format on

}  // namespace openimb
