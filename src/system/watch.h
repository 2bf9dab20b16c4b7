// A thread that notices when the main thread does not come back.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace openimb::system {

/// Time in which the process did not run (the whole job may be suspended) hardly counts. Between two looks
/// the thread sleeps. The alarm and what the main thread does here exclude each other: the alarm sees all
/// that happened before the last of these calls, and one that comes during an alarm waits for its end.
class Watch {
 public:
  /// `alarm`: called on the watching thread once for each time that takes longer than `seconds`.
  Watch(double seconds, std::function<void()> alarm);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// From now on, or no longer.
  void set(bool watching);
  /// Changes what the alarm reads.
  void change(const std::function<void()>& what);

 private:
  void serve();

  const double seconds_;
  const std::function<void()> alarm_;
  std::mutex mutex_;  ///< of what follows, and held during an alarm
  bool watching_ = false;
  unsigned turn_ = 0;
  bool ending_ = false;
  std::condition_variable wake_;
  std::optional<std::thread> thread_;
};

}  // namespace openimb::system
