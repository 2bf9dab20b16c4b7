#include "system/watchdog.h"

#include <chrono>
#include <utility>

#include "system/threads.h"

namespace openimb::system {

namespace {

constexpr int checks = 10;  // number of checks until the alarm

}  // namespace

Watchdog::Watchdog(double seconds, std::function<void()> alarm)
    : seconds_(seconds), alarm_(std::move(alarm)) {
  block_signals_during([this] { thread_.emplace([this] { serve(); }); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_->join();
}

void Watchdog::set(bool watching) {
  const std::lock_guard lock(mutex_);
  ++period_;
  watching_ = watching;
}

void Watchdog::change(const std::function<void()>& what) {
  const std::lock_guard lock(mutex_);
  what();
}

void Watchdog::serve() {
  const std::chrono::duration<double> interval(seconds_ / checks);
  unsigned last_period = 0;
  int count = 0;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return ending_; })) {
    count = watching_ && period_ == last_period ? count + 1 : 0;
    last_period = period_;
    if (count == checks) alarm_();
  }
}

}  // namespace openimb::system
