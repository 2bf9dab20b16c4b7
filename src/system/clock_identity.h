#pragma once

#include <string>

namespace openimb::system {

/// What processes have in common that read the same monotonic clock: the boot of the system and the time
/// namespace; empty where unknown.
std::string clock_identity();

}  // namespace openimb::system
