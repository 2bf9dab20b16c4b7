// Components. An executable runs the benchmarks of one component, and knows the names and Specs of all
// components for -list, -help and suggestions. components.txt lists the components.
#pragma once

#include <span>
#include <string_view>

#include "engine/entry.h"
#include "model/component.h"

namespace openimb {

/// A component whose loops are compiled.
struct Component {
  const ComponentList& list;
  std::span<const Entry> entries;  ///< parallel to list.benchmarks
};

/// Declares a function per component. Each is defined in src/benchmarks/<component>.cpp.
#define OPENIMB_FOR_COMPONENT(name, Catalog) const Component& name();
#include "benchmarks/components.inc"
#undef OPENIMB_FOR_COMPONENT

/// All components, in the order of -list.
std::span<const ComponentList> all_components();

/// The component with this name, which must exist.
const ComponentList& component_list(std::string_view name);

}  // namespace openimb
