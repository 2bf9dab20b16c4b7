// IMB-NBC. The order is that of the reference outputs; the pure flavours, off by default, stand beside their
// relatives.
#include "benchmarks/catalogue.h"
#include "benchmarks/nonblocking.h"

namespace openimb {

const Component& component() {
  static constexpr Entry entries[] = {
      entry<Ibcast>(),          entry<Ibcast_pure>(),          entry<Iallgather>(), entry<Iallgather_pure>(),
      entry<Iallgatherv>(),     entry<Iallgatherv_pure>(),     entry<Igather>(),    entry<Igather_pure>(),
      entry<Igatherv>(),        entry<Igatherv_pure>(),        entry<Iscatter>(),   entry<Iscatter_pure>(),
      entry<Iscatterv>(),       entry<Iscatterv_pure>(),       entry<Ialltoall>(),  entry<Ialltoall_pure>(),
      entry<Ialltoallv>(),      entry<Ialltoallv_pure>(),      entry<Ireduce>(),    entry<Ireduce_pure>(),
      entry<Ireduce_scatter>(), entry<Ireduce_scatter_pure>(), entry<Iallreduce>(), entry<Iallreduce_pure>(),
      entry<Ibarrier>(),        entry<Ibarrier_pure>(),
  };
  static constexpr Component nbc{"NBC", "MPI-NBC part", entries};
  return nbc;
}

}  // namespace openimb
