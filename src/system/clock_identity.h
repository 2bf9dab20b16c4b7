#pragma once

#include <string>

namespace openimb::system {

/// Equal for processes that read the same monotonic clock: names the boot of the system and the time
/// namespace. Empty if unknown.
std::string clock_identity();

}  // namespace openimb::system
