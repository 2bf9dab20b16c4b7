// One launch of one component, from argv to the exit status.
#pragma once

namespace openimb {

struct Component;

/// Documented exit statuses: 0 all measured; 2 usage error; 3 something was not measured or could not be
/// written; 4 wrong bytes; 5 a rank could not go on.
int run(const Component& component, int argc, char** argv);

}  // namespace openimb
