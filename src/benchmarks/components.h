// A component with its benchmarks, which makes up an executable; and the names and specs of all components,
// for -list, -help and suggestions.
#pragma once

#include <span>
#include <string_view>

#include "engine/entry.h"
#include "plan/component.h"

namespace openimb {

struct Component {
  const ComponentList& list;
  std::span<const Entry> entries;  ///< parallel to list.benchmarks
};

/// In the order of -list.
std::span<const ComponentList> all_components();

/// That of this name, which is one of them.
const ComponentList& component_list(std::string_view name);

}  // namespace openimb
