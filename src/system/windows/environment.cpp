#include <cstdlib>

#include "system/environment_block.h"

namespace openimb::system {

char** environment_block() { return _environ; }

}  // namespace openimb::system
