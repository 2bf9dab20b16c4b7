// IMB-FABRIC: which ranks are endpoints.
#pragma once

#include <vector>

#include "app/launch.h"
#include "plan/options.h"

namespace openimb {

/// Chooses them by where ranks may run and fills in FabricOptions::ranks; returns what is known of them at
/// rank 0. Nothing without a fabric. Collective. Throws UsageError on all ranks or on none.
std::vector<EndpointFacts> settle_endpoints(Agreement& world, Options& options);

}  // namespace openimb
