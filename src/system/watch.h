// A thread that calls an alarm when the main thread does not return from a call in time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace openimb::system {

/// Time in which the process did not run (the whole job may be suspended) hardly counts, as the thread counts
/// checks, between which it sleeps. The alarm and the calls of the main thread exclude each other: the alarm
/// sees all that happened before the last of these calls, and a call during an alarm waits for the end of the
/// alarm.
class Watch {
 public:
  /// `alarm`: called on the watching thread, once for each watched period that is longer than `seconds`.
  Watch(double seconds, std::function<void()> alarm);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// Begins a watched period, or ends it.
  void set(bool watching);
  /// Changes what the alarm reads.
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
