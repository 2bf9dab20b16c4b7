// IMB-FABRIC: which ranks are endpoints, and what -pair_timeout needs of the MPI.
#pragma once

#include <vector>

#include "model/options.h"
#include "result/measurement.h"
#include "session/process_group.h"

namespace openimb {

/// Chooses the endpoints by the CPUs on which ranks may run and fills in FabricOptions::ranks; returns facts
/// about them at rank 0. Does nothing in other components. Collective. Throws UsageError on all ranks or on
/// none.
std::vector<EndpointFacts> choose_endpoints(ProcessGroup& world, Options& options);

/// Throws UsageError where -pair_timeout is in force and this MPI lacks the calls that it needs.
void require_timeout_calls(const Options& options);

}  // namespace openimb
