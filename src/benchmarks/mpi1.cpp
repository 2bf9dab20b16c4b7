// IMB-MPI1. The order is that of the reference outputs; names off by default stand beside their relatives.
#include "benchmarks/catalogue.h"
#include "benchmarks/collective.h"
#include "benchmarks/parallel_transfer.h"
#include "benchmarks/single_transfer.h"

namespace openimb {

const Component& component() {
  static constexpr Entry entries[] = {
      entry<PingPong>(),
      entry<PingPongSpecificSource>(),
      entry<PingPing>(),
      entry<PingPingSpecificSource>(),
      entry<Sendrecv>(),
      entry<Exchange>(),
      entry<Uniband>(),
      entry<Biband>(),
      entry<Allreduce>(),
      entry<Reduce>(),
      entry<Reduce_local>(),
      entry<Reduce_scatter>(),
      entry<Reduce_scatter_block>(),
      entry<Allgather>(),
      entry<Allgatherv>(),
      entry<Gather>(),
      entry<Gatherv>(),
      entry<Scatter>(),
      entry<Scatterv>(),
      entry<Alltoall>(),
      entry<Alltoallv>(),
      entry<Bcast>(),
      entry<Barrier>(),
  };
  static constexpr Component mpi1{"MPI1", "MPI-1 part", entries};
  return mpi1;
}

}  // namespace openimb
