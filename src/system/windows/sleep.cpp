#include "system/sleep.h"

#include "system/windows/stop_event.h"

namespace openimb::system {

void pause_for(double seconds) {
  if (seconds > 0) WaitForSingleObject(stop_event(), static_cast<DWORD>(seconds * 1e3 + 0.5));
}

}  // namespace openimb::system
