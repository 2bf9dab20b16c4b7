// Sleeping.
#pragma once

namespace openimb::system {

/// Ends early when a signal arrives.
void pause_for(double seconds);

}  // namespace openimb::system
