// The catalog of IMB-NBC, in the order of the reference outputs. Each pure form is off by default and comes
// after the form with overlap.
#pragma once

#include "benchmarks/catalog.h"
#include "benchmarks/collective.h"
#include "benchmarks/forms.h"
#include "benchmarks/neighborhood.h"

namespace openimb {

inline constexpr ComponentFacts nbc_facts{.name = "NBC", .title = "MPI-NBC part"};

// clang-format off
using Nbc = Catalog<
    Nonblocking<"Ibcast", Bcast>,
    Pure<"Ibcast_pure", Nonblocking<"Ibcast", Bcast>>,
    Nonblocking<"Iallgather", Allgather>,
    Pure<"Iallgather_pure", Nonblocking<"Iallgather", Allgather>>,
    Nonblocking<"Iallgatherv", Allgatherv>,
    Pure<"Iallgatherv_pure", Nonblocking<"Iallgatherv", Allgatherv>>,
    Nonblocking<"Igather", Gather>,
    Pure<"Igather_pure", Nonblocking<"Igather", Gather>>,
    Nonblocking<"Igatherv", Gatherv>,
    Pure<"Igatherv_pure", Nonblocking<"Igatherv", Gatherv>>,
    Nonblocking<"Iscatter", Scatter>,
    Pure<"Iscatter_pure", Nonblocking<"Iscatter", Scatter>>,
    Nonblocking<"Iscatterv", Scatterv>,
    Pure<"Iscatterv_pure", Nonblocking<"Iscatterv", Scatterv>>,
    Nonblocking<"Ialltoall", Alltoall>,
    Pure<"Ialltoall_pure", Nonblocking<"Ialltoall", Alltoall>>,
    Nonblocking<"Ialltoallv", Alltoallv>,
    Pure<"Ialltoallv_pure", Nonblocking<"Ialltoallv", Alltoallv>>,
    Nonblocking<"Ialltoallw", Alltoallw>,
    Pure<"Ialltoallw_pure", Nonblocking<"Ialltoallw", Alltoallw>>,
    Nonblocking<"Ireduce", Reduce>,
    Pure<"Ireduce_pure", Nonblocking<"Ireduce", Reduce>>,
    Nonblocking<"Ireduce_scatter", Reduce_scatter>,
    Pure<"Ireduce_scatter_pure", Nonblocking<"Ireduce_scatter", Reduce_scatter>>,
    Nonblocking<"Iallreduce", Allreduce>,
    Pure<"Iallreduce_pure", Nonblocking<"Iallreduce", Allreduce>>,
    Nonblocking<"Iscan", Scan>,
    Pure<"Iscan_pure", Nonblocking<"Iscan", Scan>>,
    Nonblocking<"Iexscan", Exscan>,
    Pure<"Iexscan_pure", Nonblocking<"Iexscan", Exscan>>,
    Nonblocking<"Ibarrier", Barrier>,
    Pure<"Ibarrier_pure", Nonblocking<"Ibarrier", Barrier>>,
    Nonblocking<"Ineighbor_allgather", Neighbor_allgather>,
    Pure<"Ineighbor_allgather_pure", Nonblocking<"Ineighbor_allgather", Neighbor_allgather>>,
    Nonblocking<"Ineighbor_allgatherv", Neighbor_allgatherv>,
    Pure<"Ineighbor_allgatherv_pure", Nonblocking<"Ineighbor_allgatherv", Neighbor_allgatherv>>,
    Nonblocking<"Ineighbor_alltoall", Neighbor_alltoall>,
    Pure<"Ineighbor_alltoall_pure", Nonblocking<"Ineighbor_alltoall", Neighbor_alltoall>>,
    Nonblocking<"Ineighbor_alltoallv", Neighbor_alltoallv>,
    Pure<"Ineighbor_alltoallv_pure", Nonblocking<"Ineighbor_alltoallv", Neighbor_alltoallv>>,
    Nonblocking<"Ineighbor_alltoallw", Neighbor_alltoallw>,
    Pure<"Ineighbor_alltoallw_pure", Nonblocking<"Ineighbor_alltoallw", Neighbor_alltoallw>>>;
// clang-format on

}  // namespace openimb
