#include "benchmarks/fabric.h"

#include "benchmarks/catalogues.h"
#include "benchmarks/components.h"

namespace openimb {

const Component& fabric() {
  static constexpr auto entries = Fabric::entries<BatchOf>();
  static const Component component{component_list(ComponentIndex::fabric), entries};
  return component;
}

}  // namespace openimb
