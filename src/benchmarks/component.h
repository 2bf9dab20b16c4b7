// What an executable is made of.
#pragma once

#include <span>

#include "engine/entry.h"
#include "plan/component.h"

namespace openimb {

struct Component {
  const ComponentList& list;
  std::span<const Entry> entries;  ///< parallel to list.benchmarks
};

}  // namespace openimb
