// Catalogs: a component's benchmarks as an ordered list of types. Their specs can be had without their
// loops, so that every executable knows the names of all components and compiles one.
#pragma once

#include <array>
#include <span>

#include "engine/batch.h"
#include "plan/component.h"

namespace openimb {

template <class... Patterns>
struct Catalogue {
  static constexpr std::array<Spec, sizeof...(Patterns)> specs{Patterns::spec...};
  /// Compiles all loops.
  template <template <class, class> class BatchType>
  static constexpr std::array<Entry, sizeof...(Patterns)> entries() {
    return {entry<Patterns, BatchType>()...};
  }
};

}  // namespace openimb
