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

/// Where threads take turns in MPI, as MPI_THREAD_SERIALIZED has it: the repetitions of thread 0, 1, ... one
/// after the other, in the same order on every rank. A lock around each call would not do: a thread that
/// waits in it for a message would keep out the one that has to send.
class Turn {
 public:
  explicit Turn(int threads) : threads_(threads) {}
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

 private:
  const int threads_;
  std::atomic<int> next_{0};
};

}  // namespace openimb
