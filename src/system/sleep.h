// Sleep that a signal ends.
#pragma once

namespace openimb::system {

/// Sleeps for `seconds`, or until a signal arrives.
void pause_for(double seconds);

}  // namespace openimb::system
