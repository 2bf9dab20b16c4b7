#include "benchmarks/io.h"

#include "benchmarks/components.h"

namespace openimb {

const Component& io() {
  static constexpr auto entries = Io::entries<FileBatchOf>();
  static const Component component{component_list(io_facts.name), entries};
  return component;
}

}  // namespace openimb
