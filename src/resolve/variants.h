// -alternate: the control variables of the MPI library.
#pragma once

#include <memory>

#include "model/options.h"
#include "mpi/control_variables.h"
#include "session/process_group.h"

namespace openimb {

/// The variables that -alternate sets, each of which was tried; null without it. Adds warnings to the
/// options. Throws UsageError on all ranks or on none.
std::unique_ptr<ControlVariables> try_variants(ProcessGroup& world, Options& options);

}  // namespace openimb
