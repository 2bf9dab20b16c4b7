// The parts of messages, marked ready by a team of threads. The main thread has the benchmark's loop; the
// others wait for a message to mark their parts. Needs MPI_THREAD_MULTIPLE. Source: MPI 4.1, sections 4.2 and
// 11.6.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/thread_team.h"
#include "mpi/calls.h"

namespace openimb {

class Marking {
 public:
  explicit Marking(int threads) : threads_(threads), rounds_(threads) {}

  /// By the main thread: all parts of so many messages; returns when all are marked. So no thread is in MPI
  /// with a request when that is completed and started again.
  void mark(const MPI_Request* requests, int messages, int parts) {
    requests_ = requests;
    messages_ = messages;
    parts_ = parts;
    rounds_.begin();
    mark_share(0);
    rounds_.await();
  }

  void reset() { rounds_.reset(); }
  void end() { rounds_.end(); }
  /// By another thread, until end().
  void serve(int thread) {
    rounds_.serve([this, thread] { mark_share(thread); });
  }

 private:
  /// Neighboring parts, as a loop is divided among threads.
  int first_of(int thread) const { return static_cast<int>(std::int64_t{parts_} * thread / threads_); }
  void mark_share(int thread) const {
    for (int message = 0; message < messages_; ++message) {
      for (int part = first_of(thread); part < first_of(thread + 1); ++part) {
        call::mark_ready(part, requests_[message]);
      }
    }
  }

  const int threads_;
  Rounds rounds_;
  const MPI_Request* requests_ = nullptr;
  int messages_ = 0;
  int parts_ = 0;
};

}  // namespace openimb
