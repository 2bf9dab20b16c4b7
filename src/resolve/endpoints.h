// IMB-FABRIC: chooses the ranks that are endpoints, and checks that the MPI has the calls for -pair_timeout.
#pragma once

#include <vector>

#include "model/options.h"
#include "result/measurement.h"
#include "session/process_group.h"

namespace openimb {

/// Chooses the endpoints by the CPUs on which ranks may run, and fills in FabricOptions::ranks. Rank 0 also
/// fills in FabricOptions::readers, and gets facts about the endpoints as the result. Does nothing in other
/// components. Collective. Throws UsageError on all ranks or on none.
std::vector<EndpointFacts> choose_endpoints(ProcessGroup& world, Options& options);

/// Throws UsageError if -pair_timeout is not 0 and this MPI lacks the calls that it needs.
void require_timeout_calls(const Options& options);

}  // namespace openimb
