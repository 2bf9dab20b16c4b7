// A thread that raises an alarm if the main thread does not return from a call in time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace openimb::system {

/// The thread sleeps between checks and counts the checks, so that time in which the process does not run
/// (the whole job may be suspended) hardly counts. The alarm and calls of the main thread exclude each other.
/// The alarm sees all that happened before the last of these calls, and a call waits for the end of a running
/// alarm.
class Watchdog {
 public:
  /// `alarm` is called on the watchdog thread, once per watched period longer than `seconds`.
  Watchdog(double seconds, std::function<void()> alarm);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  /// Begins a watched period (true), or ends it.
  void set(bool watching);
  /// Calls `what`, which changes data that the alarm reads, while no alarm runs.
  void change(const std::function<void()>& what);

 private:
  void serve();

  const double seconds_;
  const std::function<void()> alarm_;
  std::mutex mutex_;  ///< protects what follows; held during an alarm
  bool watching_ = false;
  unsigned period_ = 0;
  bool ending_ = false;
  std::condition_variable wake_;
  std::optional<std::thread> thread_;
};

}  // namespace openimb::system
