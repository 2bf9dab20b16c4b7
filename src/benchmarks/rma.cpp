#include "benchmarks/rma.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& rma() {
  static constexpr auto entries = Rma::entries<BatchOf>();
  static const Component component{component_list(rma_facts.name), entries};
  return component;
}

}  // namespace openimb
