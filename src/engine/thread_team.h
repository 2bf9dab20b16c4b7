// The threads of a launch. They start once and sleep between batches. This file makes no MPI calls.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "model/options.h"

namespace openimb {

/// A team of threads. Thread 0 constructs it, and the team starts the other threads. An exception in one of
/// these ends the program (std::terminate), like an exception on one rank alone.
class ThreadTeam {
 public:
  /// Each thread calls `begin` once, before anything else. The constructor returns after all these calls.
  explicit ThreadTeam(int threads, const std::function<void(int thread)>& begin = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return static_cast<int>(others_.size()) + 1; }
  /// Calls `work` on every thread, and returns after all calls.
  void run(const std::function<void(int thread)>& work);
  /// A barrier of all threads, to be called within run(). Threads do not sleep in it, so that all continue at
  /// once.
  void barrier();

 private:
  void serve(int thread);
  void end();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::uint64_t round_ = 0;  ///< number of calls of run()
  int at_work_ = 0;          ///< number of other threads that have not returned from `work`
  bool ending_ = false;

  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> barriers_{0};
  std::vector<std::thread> others_;
};

/// Rounds of work within one ThreadTeam::run. Thread 0 begins a round, and the round ends when the others
/// have done their share. Waiting threads do not sleep, but yield after a while, because there may be more
/// threads than CPUs.
class Rounds {
 public:
  explicit Rounds(int threads) : others_(threads - 1) {}
  /// Prepares the rounds of the next ThreadTeam::run.
  void reset() {
    round_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    ending_ = false;
  }
  /// Thread 0 begins a round. The others see what it wrote before this call.
  void begin() {
    done_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
  }
  /// Thread 0 waits until all others are done.
  void await() const {
    wait_until([this] { return done_.load(std::memory_order_acquire) == others_; });
  }
  /// Thread 0 says that there are no more rounds.
  void end() {
    ending_ = true;
    begin();
  }
  /// The others call `share` in each round. Returns after end().
  template <class Share>
  void serve(const Share& share) {
    for (std::uint32_t round = 1;; ++round) {
      wait_until([&] { return round_.load(std::memory_order_acquire) == round; });
      if (ending_) return;
      share();
      done_.fetch_add(1, std::memory_order_release);
    }
  }

 private:
  template <class Condition>
  static void wait_until(const Condition& condition) {
    constexpr int spins = 1000;  // then yields: other threads may need this CPU
    for (int i = 0; !condition(); ++i) {
      if (i >= spins) std::this_thread::yield();
    }
  }

  const int others_;
  bool ending_ = false;
  alignas(default_cache_line) std::atomic<std::uint32_t> round_{0};
  alignas(default_cache_line) std::atomic<int> done_{0};
};

/// Turns of threads for MPI_THREAD_SERIALIZED. The repetitions of threads 0, 1, ... run one after another, in
/// the same order on every rank. A lock around each call would not be enough: a thread that waits for a
/// message within a call would block the thread that must send it.
class Turn {
 public:
  explicit Turn(int threads) : threads_(threads), waiting_(static_cast<std::size_t>(threads)) {}
  /// Waits until it is the turn of `thread`.
  void await(int thread) {
    for (int current = next_.load(std::memory_order_acquire); current != thread;
         current = next_.load(std::memory_order_acquire)) {
      next_.wait(current, std::memory_order_acquire);
    }
  }
  /// The thread whose turn it is passes the turn on.
  void pass(int thread) {
    next_.store(thread + 1 == threads_ ? 0 : thread + 1, std::memory_order_release);
    next_.notify_all();
  }
  /// Seconds that a thread has waited for its turns. The thread itself adds to them.
  double& waiting(int thread) { return waiting_[static_cast<std::size_t>(thread)].seconds; }

 private:
  struct alignas(default_cache_line) Waiting {
    double seconds = 0;
  };

  const int threads_;
  std::atomic<int> next_{0};
  std::vector<Waiting> waiting_;
};

}  // namespace openimb
