// IMB-MPI4. The order is that of the reference outputs; the pure flavors, off by default, stand beside their
// relatives, and ours behind IMB's.
#pragma once

#include "benchmarks/catalogue.h"
#include "benchmarks/creation.h"
#include "benchmarks/partitioned.h"
#include "benchmarks/persistent.h"

namespace openimb {

using Mpi4 =
    Catalogue<Bcast_persist, Bcast_persist_pure, Allgather_persist, Allgather_persist_pure,
              Allgatherv_persist, Allgatherv_persist_pure, Gather_persist, Gather_persist_pure,
              Gatherv_persist, Gatherv_persist_pure, Scatter_persist, Scatter_persist_pure, Scatterv_persist,
              Scatterv_persist_pure, Alltoall_persist, Alltoall_persist_pure, Alltoallv_persist,
              Alltoallv_persist_pure, Reduce_persist, Reduce_persist_pure, Reduce_scatter_persist,
              Reduce_scatter_persist_pure, Allreduce_persist, Allreduce_persist_pure, Barrier_persist,
              Barrier_persist_pure, Sendrecv_persist, Exchange_persist, Partitioned_PingPong,
              Partitioned_overlap, Partitioned_Exchange, Comm_create, Comm_split, Session_init>;

}  // namespace openimb
