// IMB-FABRIC: which ranks are endpoints.
#pragma once

#include <vector>

#include "app/launch.h"
#include "plan/options.h"

namespace openimb {

/// Chooses the endpoints by the CPUs on which ranks may run and fills in FabricOptions::ranks; returns facts
/// about them at rank 0. Does nothing in other components. Collective. Throws UsageError on all ranks or on
/// none.
std::vector<EndpointFacts> choose_endpoints(Agreement& world, Options& options);

}  // namespace openimb
