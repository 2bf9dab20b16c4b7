// IMB-FABRIC: rounds of pairs of endpoints. A pass has all rounds in random order, a round all benchmarks and
// lengths; each pair's times go to the reporter at once, so that no rank ever holds more than a round.
// docs/architecture.md has the reasons.
#pragma once

#include "session/session.h"

namespace openimb {

/// Collective over the world, as run_session(), for options with a fabric.
Ending run_sweeps(const SessionParts& parts);

}  // namespace openimb
