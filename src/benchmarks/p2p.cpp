#include "benchmarks/p2p.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& p2p() {
  static constexpr auto entries = P2p::entries<BatchOf>();
  static const Component component{component_list(p2p_facts.name), entries};
  return component;
}

}  // namespace openimb
