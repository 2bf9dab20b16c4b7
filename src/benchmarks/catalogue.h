// The components' catalogues: explicit, ordered, one file each. An executable links exactly one.
#pragma once

#include <span>
#include <string_view>

#include "engine/batch.h"
#include "plan/options.h"

namespace openimb {

struct Component {
  std::string_view name;           ///< "MPI1"
  std::string_view part;           ///< "MPI-1 part", as in the banner
  std::span<const Entry> entries;  ///< in the order in which they run
  Standard standard = {};          ///< what holds where nothing else is asked for
};

/// Defined by the catalogue that is linked.
const Component& component();

}  // namespace openimb
