#include "model/data_layout.h"

namespace openimb {

std::string name_of(const DataLayout& layout) {
  const std::string name = name_of(layout.placement);
  if (layout.placement != Placement::vector) return name;
  return name + ":" + std::to_string(layout.block) + ":" + std::to_string(layout.stride);
}

}  // namespace openimb
