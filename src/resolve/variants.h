// -alternate: tries the control variables of the MPI library (MPI_T).
#pragma once

#include <memory>

#include "model/options.h"
#include "mpi/control_variables.h"
#include "session/process_group.h"

namespace openimb {

/// Returns the variables that -alternate sets, after trying each of them; null without -alternate. Adds
/// warnings to the options. Collective. Throws UsageError on all ranks or on none.
std::unique_ptr<ControlVariables> try_variants(ProcessGroup& world, Options& options);

}  // namespace openimb
