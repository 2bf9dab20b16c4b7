#include "engine/thread_team.h"

#include <stdexcept>
#include <string>
#include <system_error>

namespace openimb {

ThreadTeam::ThreadTeam(int threads, const std::function<void(int)>& begin) {
  others_.reserve(static_cast<std::size_t>(threads) - 1);
  for (int thread = 1; thread < threads; ++thread) {
    try {
      others_.emplace_back([this, thread] { serve(thread); });
    } catch (const std::system_error& error) {
      end();
      throw std::runtime_error("cannot start thread " + std::to_string(thread + 1) + " of " +
                               std::to_string(threads) + ": " + error.code().message() +
                               "; give fewer -threads, or raise the limits (ulimit -u, -v)");
    }
  }
  if (begin) run(begin);
}

ThreadTeam::~ThreadTeam() { end(); }

void ThreadTeam::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& other : others_) other.join();
}

void ThreadTeam::run(const std::function<void(int)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    at_work_ = threads() - 1;
    ++round_;
  }
  wake_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return at_work_ == 0; });
  work_ = nullptr;
}

void ThreadTeam::serve(int thread) {
  for (std::uint64_t served = 0;; ++served) {
    const std::function<void(int)>* work = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return ending_ || round_ > served; });
      if (ending_) return;
      work = work_;
    }
    (*work)(thread);
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      last = --at_work_ == 0;
    }
    if (last) done_.notify_one();
  }
}

void ThreadTeam::barrier() {
  constexpr int spins = 1000;  // then yields: other threads may need this CPU
  const std::uint32_t number = barriers_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads()) {
    arrived_.store(0, std::memory_order_relaxed);
    barriers_.store(number + 1, std::memory_order_release);
    return;
  }
  for (int i = 0; barriers_.load(std::memory_order_acquire) == number; ++i) {
    if (i >= spins) std::this_thread::yield();
  }
}

}  // namespace openimb
