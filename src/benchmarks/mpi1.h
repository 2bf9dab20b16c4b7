// The catalog of IMB-MPI1, in the order of the reference outputs. A benchmark that is off by default comes
// after a related one.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/collective.h"
#include "benchmarks/forms.h"
#include "benchmarks/neighborhood.h"
#include "benchmarks/parallel_transfer.h"
#include "benchmarks/persistent.h"
#include "benchmarks/single_transfer.h"

namespace openimb {

inline constexpr ComponentFacts mpi1_facts{
    .name = "MPI1",
    .title = "MPI-1 part",
    .quirks = {.blank_after_command = true, .blank_comments = true, .blank_after_type = true}};

using Mpi1 =
    Catalog<PingPong, PingPongSpecificSource, AlsoNamed<"PingPongAnySource", PingPong>, PingPong_persist,
            PingPong_mprobe, PingPing, PingPingSpecificSource, AlsoNamed<"PingPingAnySource", PingPing>,
            Sendrecv, Exchange, Uniband, Biband, Allreduce, Reduce, Reduce_local, Reduce_scatter,
            Reduce_scatter_block, Scan, Exscan, Allgather, Allgatherv, Gather, Gatherv, Scatter, Scatterv,
            Alltoall, Alltoallv, Alltoallw, Neighbor_allgather, Neighbor_allgatherv, Neighbor_alltoall,
            Neighbor_alltoallv, Neighbor_alltoallw, Bcast, Barrier>;

}  // namespace openimb
