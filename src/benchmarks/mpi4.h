// The catalog of IMB-MPI4, in the order of the reference outputs. Each pure form is off by default and comes
// after the form with overlap. Benchmarks that IMB does not have come last.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/collective.h"
#include "benchmarks/creation.h"
#include "benchmarks/forms.h"
#include "benchmarks/partitioned.h"
#include "benchmarks/persistent.h"

namespace openimb {

inline constexpr ComponentFacts mpi4_facts{
    .name = "MPI4", .title = "MPI-4 part", .quirks = {.blank_comments = true}};

// clang-format off
using Mpi4 = Catalog<
    Persistent<"Bcast_persist", Bcast>,
    Pure<"Bcast_persist_pure", Persistent<"Bcast_persist", Bcast>>,
    OffByDefault<Persistent<"Allgather_persist", Allgather>>,
    Pure<"Allgather_persist_pure", Persistent<"Allgather_persist", Allgather>>,
    Persistent<"Allgatherv_persist", Allgatherv>,
    Pure<"Allgatherv_persist_pure", Persistent<"Allgatherv_persist", Allgatherv>>,
    Persistent<"Gather_persist", Gather>,
    Pure<"Gather_persist_pure", Persistent<"Gather_persist", Gather>>,
    Persistent<"Gatherv_persist", Gatherv>,
    Pure<"Gatherv_persist_pure", Persistent<"Gatherv_persist", Gatherv>>,
    Persistent<"Scatter_persist", Scatter>,
    Pure<"Scatter_persist_pure", Persistent<"Scatter_persist", Scatter>>,
    Persistent<"Scatterv_persist", Scatterv>,
    Pure<"Scatterv_persist_pure", Persistent<"Scatterv_persist", Scatterv>>,
    Persistent<"Alltoall_persist", Alltoall>,
    Pure<"Alltoall_persist_pure", Persistent<"Alltoall_persist", Alltoall>>,
    Persistent<"Alltoallv_persist", Alltoallv>,
    Pure<"Alltoallv_persist_pure", Persistent<"Alltoallv_persist", Alltoallv>>,
    Persistent<"Reduce_persist", Reduce>,
    Pure<"Reduce_persist_pure", Persistent<"Reduce_persist", Reduce>>,
    Persistent<"Reduce_scatter_persist", Reduce_scatter>,
    Pure<"Reduce_scatter_persist_pure", Persistent<"Reduce_scatter_persist", Reduce_scatter>>,
    Persistent<"Allreduce_persist", Allreduce>,
    Pure<"Allreduce_persist_pure", Persistent<"Allreduce_persist", Allreduce>>,
    Persistent<"Barrier_persist", Barrier>,
    Pure<"Barrier_persist_pure", Persistent<"Barrier_persist", Barrier>>,
    Sendrecv_persist,
    Exchange_persist,
    Partitioned_PingPong,
    Partitioned_overlap,
    Partitioned_Exchange,
    Comm_create,
    Comm_split,
    Session_init>;
// clang-format on

}  // namespace openimb
