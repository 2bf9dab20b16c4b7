#include "benchmarks/mpi1.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& mpi1() {
  static constexpr auto entries = Mpi1::entries<BatchOf>();
  static const Component component{component_list(mpi1_facts.name), entries};
  return component;
}

}  // namespace openimb
