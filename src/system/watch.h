// A thread that notices when the main thread does not come back.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace openimb::system {

/// Time in which the process did not run (the whole job may be suspended) hardly counts. Between two looks
/// the thread sleeps.
class Watch {
 public:
  /// `alarm`: called on the watching thread once for each time that takes longer than `seconds`.
  Watch(double seconds, std::function<void()> alarm);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// From now on, or no longer.
  void set(bool watching);

 private:
  void serve();

  const double seconds_;
  const std::function<void()> alarm_;
  std::atomic<bool> watching_{false};
  std::atomic<unsigned> turn_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::optional<std::thread> thread_;
};

}  // namespace openimb::system
