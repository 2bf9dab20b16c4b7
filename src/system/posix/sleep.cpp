#include "system/sleep.h"

#include <ctime>

namespace openimb::system {

// std::this_thread::sleep_for() would continue after a signal, but a stop must not wait for a pause.
void pause_for(double seconds) {
  if (seconds <= 0) return;
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  nanosleep(&time, nullptr);
}

}  // namespace openimb::system
