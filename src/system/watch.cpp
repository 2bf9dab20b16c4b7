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
  turn_.fetch_add(1, std::memory_order_relaxed);
  watching_.store(watching, std::memory_order_relaxed);
}

void Watch::serve() {
  const std::chrono::duration<double> slice(seconds_ / looks);
  unsigned seen = 0;
  int count = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, slice, [this] { return ending_; })) {
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    count = watching_.load(std::memory_order_relaxed) && turn == seen ? count + 1 : 0;
    seen = turn;
    if (count == looks) alarm_();
  }
}

}  // namespace openimb::system
