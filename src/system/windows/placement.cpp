#include "system/placement.h"

namespace openimb::system {

CpuPlace place_of_cpu(int /*cpu*/) { return {}; }

}  // namespace openimb::system
