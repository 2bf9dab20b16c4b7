#pragma once

#include <string>

namespace openimb::system {

/// Returns a text that is equal for processes that read the same monotonic clock. It identifies the boot of
/// the system and the time namespace. Empty if unknown.
std::string clock_identity();

}  // namespace openimb::system
