// One launch of one component, from argv to the exit status.
#pragma once

namespace openimb {

struct Component;

/// Returns the exit status: 0 everything was measured; 2 usage error; 3 something was not measured or could
/// not be written; 4 wrong bytes; 5 a rank aborted the run.
int run(const Component& component, int argc, char** argv);

}  // namespace openimb
