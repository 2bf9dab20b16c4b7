#include "benchmarks/ext.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& ext() {
  static constexpr auto entries = Ext::entries<BatchOf>();
  static const Component component{component_list(ext_facts.name), entries};
  return component;
}

}  // namespace openimb
