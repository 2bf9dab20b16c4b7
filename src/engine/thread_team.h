// The threads of a launch: made once, asleep between batches. No MPI.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace openimb {

/// Thread 0 is the one that owns the team; the others are made here. An exception in one of them ends the
/// program (std::terminate), as one that only a rank has does.
class ThreadTeam {
 public:
  /// `begin`: called once on each thread, before anything else; all have returned when this has.
  explicit ThreadTeam(int threads, const std::function<void(int thread)>& begin = {});
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int threads() const { return static_cast<int>(others_.size()) + 1; }
  /// `work` on every thread; returns when all have returned.
  void run(const std::function<void(int thread)>& work);
  /// Within run(): returns when all threads are here. They wait awake, so that all go on at once.
  void meet();

 private:
  void serve(int thread);
  void end();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::uint64_t round_ = 0;  ///< of run()
  int at_work_ = 0;          ///< of the others
  bool ending_ = false;

  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> meetings_{0};
  std::vector<std::thread> others_;
};

/// Rounds within one ThreadTeam::run: thread 0 begins a round and ends it when the others have done their
/// share. All wait awake, and give their CPU away after a while, as there may be more threads than CPUs.
class Rounds {
 public:
  explicit Rounds(int threads) : others_(threads - 1) {}
  /// Before ThreadTeam::run.
  void reset() {
    round_.store(0, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    ending_ = false;
  }
  /// By thread 0. What it wrote before, the others see in their share.
  void begin() {
    done_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
  }
  /// By thread 0: returns when all others are done.
  void await() const {
    wait_until([this] { return done_.load(std::memory_order_acquire) == others_; });
  }
  /// By thread 0: there are no more rounds.
  void end() {
    ending_ = true;
    begin();
  }
  /// By the others: `share` in each round; returns behind end().
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
    constexpr int spins = 1000;  // then the others may need this CPU
    for (int i = 0; !condition(); ++i) {
      if (i >= spins) std::this_thread::yield();
    }
  }

  static constexpr int cache_line = 64;
  const int others_;
  bool ending_ = false;
  alignas(cache_line) std::atomic<std::uint32_t> round_{0};
  alignas(cache_line) std::atomic<int> done_{0};
};

/// Where threads take turns in MPI, as MPI_THREAD_SERIALIZED has it: the repetitions of thread 0, 1, ... one
/// after the other, in the same order on every rank. A lock around each call would not do: a thread that
/// waits in it for a message would keep out the one that has to send.
class Turn {
 public:
  explicit Turn(int threads) : threads_(threads), waiting_(static_cast<std::size_t>(threads)) {}
  void await(int thread) {
    for (int now = next_.load(std::memory_order_acquire); now != thread;
         now = next_.load(std::memory_order_acquire)) {
      next_.wait(now, std::memory_order_acquire);
    }
  }
  /// By the thread whose turn it is.
  void pass(int thread) {
    next_.store(thread + 1 == threads_ ? 0 : thread + 1, std::memory_order_release);
    next_.notify_all();
  }
  /// Seconds that this thread has waited for its turn, which it adds up itself.
  double& waiting(int thread) { return waiting_[static_cast<std::size_t>(thread)].seconds; }

 private:
  struct alignas(64) Waiting {  // a cache line for each thread
    double seconds = 0;
  };

  const int threads_;
  std::atomic<int> next_{0};
  std::vector<Waiting> waiting_;
};

}  // namespace openimb
