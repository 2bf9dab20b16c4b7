#include "system/clock_identity.h"

namespace openimb::system {

std::string clock_identity() { return {}; }

}  // namespace openimb::system
