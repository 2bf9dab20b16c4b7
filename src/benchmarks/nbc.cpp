#include "benchmarks/nbc.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& nbc() {
  static constexpr auto entries = Nbc::entries<BatchOf>();
  static const Component component{component_list(nbc_facts.name), entries};
  return component;
}

}  // namespace openimb
