// The threads of a launch. They are started once and sleep between batches. No MPI.
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

/// Thread 0 owns the team, which starts the others. An exception in one of those ends the program
/// (std::terminate), as an exception on one rank alone does.
class ThreadTeam {
 public:
  /// `begin`: called once on each thread, before anything else. The constructor returns after all calls.
  explicit ThreadTeam(int threads, const std::function<void(int thread)>& begin = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return static_cast<int>(others_.size()) + 1; }
  /// Calls `work` on every thread, and returns after all calls.
  void run(const std::function<void(int thread)>& work);
  /// A barrier of all threads within run(). Threads do not sleep in it, so that all continue at once.
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

/// Rounds within one ThreadTeam::run: thread 0 begins a round, which ends when the others have done their
/// share. Threads do not sleep while they wait, but yield after a while, as there may be more threads than
/// CPUs.
class Rounds {
 public:
  explicit Rounds(int threads) : others_(threads - 1) {}
  /// Called before ThreadTeam::run.
  void reset() {
    round_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    ending_ = false;
  }
  /// Called by thread 0. The others see in their share what it wrote before this call.
  void begin() {
    done_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
  }
  /// Called by thread 0: returns when all others are done.
  void await() const {
    wait_until([this] { return done_.load(std::memory_order_acquire) == others_; });
  }
  /// Called by thread 0: there are no more rounds.
  void end() {
    ending_ = true;
    begin();
  }
  /// Called by the others: calls `share` in each round; returns after end().
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
    constexpr int spins = 1000;  // other threads may need this CPU after that
    for (int i = 0; !condition(); ++i) {
      if (i >= spins) std::this_thread::yield();
    }
  }

  const int others_;
  bool ending_ = false;
  alignas(default_cache_line) std::atomic<std::uint32_t> round_{0};
  alignas(default_cache_line) std::atomic<int> done_{0};
};

/// Turns of threads in MPI, for MPI_THREAD_SERIALIZED: repetitions of threads 0, 1, ... run one after the
/// other, in the same order on every rank. A lock around each call is not enough: a thread that waits in a
/// call for a message would keep out the thread that must send it.
class Turn {
 public:
  explicit Turn(int threads) : threads_(threads), waiting_(static_cast<std::size_t>(threads)) {}
  void await(int thread) {
    for (int current = next_.load(std::memory_order_acquire); current != thread;
         current = next_.load(std::memory_order_acquire)) {
      next_.wait(current, std::memory_order_acquire);
    }
  }
  /// Called by the thread whose turn it is.
  void pass(int thread) {
    next_.store(thread + 1 == threads_ ? 0 : thread + 1, std::memory_order_release);
    next_.notify_all();
  }
  /// Seconds that a thread has waited for its turn. The thread itself adds them up.
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
