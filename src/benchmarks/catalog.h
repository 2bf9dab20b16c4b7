// A catalog lists the benchmarks of a component as types, in the order in which they run. `specs` does not
// instantiate the loops. So every executable knows the benchmarks of all components, but compiles the loops
// of one component only.
#pragma once

#include <array>
#include <span>

#include "engine/batch.h"
#include "model/component.h"

namespace openimb {

template <class... Patterns>
struct Catalog {
  static constexpr std::array<Spec, sizeof...(Patterns)> specs{Patterns::spec...};
  /// Instantiates the loops of all benchmarks of the catalog.
  template <template <class, class> class BatchType>
  static constexpr std::array<Entry, sizeof...(Patterns)> entries() {
    return {entry<Patterns, BatchType>()...};
  }
};

}  // namespace openimb
