// A launch in passes: the whole selection is walked again and again, one sample of each point a pass, each
// between two probes of the machine, until the figures are known well enough or the budget is spent. Tables
// stay open; their rows are reported at the end. docs/architecture.md has the reasons.
#pragma once

#include "session/session.h"

namespace openimb {

/// Collective over the world, as run_session(), for options with passes.
Ending run_in_passes(const SessionParts& parts);

}  // namespace openimb
