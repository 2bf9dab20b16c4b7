// Catalogs: the benchmarks of a component as an ordered list of types. `specs` does not need the loops, so
// that every executable has the names of all components and compiles the loops of one.
#pragma once

#include <array>
#include <span>

#include "engine/batch.h"
#include "model/component.h"

namespace openimb {

template <class... Patterns>
struct Catalog {
  static constexpr std::array<Spec, sizeof...(Patterns)> specs{Patterns::spec...};
  /// Instantiates the loops of all benchmarks.
  template <template <class, class> class BatchType>
  static constexpr std::array<Entry, sizeof...(Patterns)> entries() {
    return {entry<Patterns, BatchType>()...};
  }
};

}  // namespace openimb
