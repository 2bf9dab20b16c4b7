// Inside this folder: an event of Windows that is set once a stop was asked for.
#pragma once

#include <windows.h>

namespace openimb::system {

HANDLE stop_event() noexcept;

}  // namespace openimb::system
