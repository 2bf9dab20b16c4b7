// A component with its benchmarks, which makes up an executable; and the names and specs of all components,
// for -list, -help and suggestions.
#pragma once

#include <span>

#include "engine/entry.h"
#include "plan/component.h"

namespace openimb {

struct Component {
  const ComponentList& list;
  std::span<const Entry> entries;  ///< parallel to list.benchmarks
};

enum class ComponentIndex { mpi1, ext, rma, nbc, io, mpi4, p2p, mt, fabric };

/// In the order of ComponentIndex.
std::span<const ComponentList> all_components();

inline const ComponentList& component_list(ComponentIndex index) {
  return all_components()[static_cast<std::size_t>(index)];
}

}  // namespace openimb
