#include "benchmarks/fabric.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& fabric() {
  static constexpr auto entries = Fabric::entries<BatchOf>();
  static const Component component{component_list(fabric_facts.name), entries};
  return component;
}

}  // namespace openimb
