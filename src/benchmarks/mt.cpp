#include "benchmarks/mt.h"

#include "benchmarks/components.h"
#include "engine/thread_batch.h"

namespace openimb {

const Component& mt() {
  static constexpr auto entries = Mt::entries<ThreadBatch>();
  static const Component component{component_list(mt_facts.name), entries};
  return component;
}

}  // namespace openimb
