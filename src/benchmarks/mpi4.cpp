#include "benchmarks/mpi4.h"

#include "benchmarks/components.h"
#include "engine/marking_batch.h"

namespace openimb {

const Component& mpi4() {
  static constexpr auto entries = Mpi4::entries<MarkedBatch>();
  static const Component component{component_list(mpi4_facts.name), entries};
  return component;
}

}  // namespace openimb
