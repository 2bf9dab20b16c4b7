// Inside this folder: a Windows event that is set once a stop is requested.
#pragma once

#include <windows.h>

namespace openimb::system {

HANDLE stop_event() noexcept;

}  // namespace openimb::system
