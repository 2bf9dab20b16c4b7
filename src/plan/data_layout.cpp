#include "plan/data_layout.h"

namespace openimb {

std::string name_of(const DataLayout& layout) {
  constexpr const char* names[] = {"contiguous", "vector", "indexed", "struct"};
  const std::string name = names[static_cast<int>(layout.placement)];
  if (layout.placement != Placement::vector) return name;
  return name + ":" + std::to_string(layout.block) + ":" + std::to_string(layout.stride);
}

}  // namespace openimb
