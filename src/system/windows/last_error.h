// Inside this folder: the texts of Windows errors.
#pragma once

#include <string>

namespace openimb::system {

/// The text of an error number of Windows or Winsock, without a period.
std::string error_text(unsigned long error);

}  // namespace openimb::system
