// The catalog of IMB-EXT, in the order of the reference outputs. A benchmark that is off by default comes
// after a related one.
#pragma once

#include "benchmarks/active_target.h"
#include "benchmarks/catalog.h"

namespace openimb {

inline constexpr ComponentFacts ext_facts{.name = "EXT", .title = "MPI-2 part"};

using Ext =
    Catalog<WindowCreation, Attach_detach, Unidir_Get, Unidir_Put, Bidir_Get, Bidir_Put, FencedAccumulate>;

}  // namespace openimb
