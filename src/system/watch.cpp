#include "system/watch.h"

#include <chrono>
#include <utility>

#include "system/threads.h"

namespace openimb::system {

namespace {

constexpr int looks = 10;  // until the alarm

}  // namespace

Watch::Watch(double seconds, std::function<void()> alarm) : seconds_(seconds), alarm_(std::move(alarm)) {
  without_signals([this] { thread_.emplace([this] { serve(); }); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_->join();
}

void Watch::set(bool watching) {
  const std::lock_guard lock(mutex_);
  ++turn_;
  watching_ = watching;
}

void Watch::change(const std::function<void()>& what) {
  const std::lock_guard lock(mutex_);
  what();
}

void Watch::serve() {
  const std::chrono::duration<double> slice(seconds_ / looks);
  unsigned seen = 0;
  int count = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, slice, [this] { return ending_; })) {
    count = watching_ && turn_ == seen ? count + 1 : 0;
    seen = turn_;
    if (count == looks) alarm_();
  }
}

}  // namespace openimb::system
