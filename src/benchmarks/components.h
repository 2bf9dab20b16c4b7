// A component with its benchmarks, which makes up an executable; and the names and specs of all components,
// for -list, -help and suggestions. components.txt lists them.
#pragma once

#include <span>
#include <string_view>

#include "engine/entry.h"
#include "model/component.h"

namespace openimb {

struct Component {
  const ComponentList& list;
  std::span<const Entry> entries;  ///< parallel to list.benchmarks
};

/// Each is defined in src/benchmarks/<component>.cpp.
#define OPENIMB_FOR_COMPONENT(name, Catalog) const Component& name();
#include "benchmarks/components.inc"
#undef OPENIMB_FOR_COMPONENT

/// In the order of -list.
std::span<const ComponentList> all_components();

/// The component of this name, which must be one of them.
const ComponentList& component_list(std::string_view name);

}  // namespace openimb
