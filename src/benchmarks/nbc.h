// IMB-NBC. The order is that of the reference outputs; the pure flavors, off by default, stand beside their
// relatives.
#pragma once

#include "benchmarks/catalogue.h"
#include "benchmarks/nonblocking.h"

namespace openimb {

using Nbc =
    Catalogue<Ibcast, Ibcast_pure, Iallgather, Iallgather_pure, Iallgatherv, Iallgatherv_pure, Igather,
              Igather_pure, Igatherv, Igatherv_pure, Iscatter, Iscatter_pure, Iscatterv, Iscatterv_pure,
              Ialltoall, Ialltoall_pure, Ialltoallv, Ialltoallv_pure, Ialltoallw, Ialltoallw_pure, Ireduce,
              Ireduce_pure, Ireduce_scatter, Ireduce_scatter_pure, Iallreduce, Iallreduce_pure, Iscan,
              Iscan_pure, Iexscan, Iexscan_pure, Ibarrier, Ibarrier_pure, Ineighbor_allgather,
              Ineighbor_allgather_pure, Ineighbor_allgatherv, Ineighbor_allgatherv_pure, Ineighbor_alltoall,
              Ineighbor_alltoall_pure, Ineighbor_alltoallv, Ineighbor_alltoallv_pure, Ineighbor_alltoallw,
              Ineighbor_alltoallw_pure>;

}  // namespace openimb
