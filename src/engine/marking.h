// A team of threads marks the partitions of messages ready (MPI_Pready). The main thread runs the benchmark's
// loop. The other threads wait for messages whose partitions they mark. This needs MPI_THREAD_MULTIPLE.
// Source: MPI 4.1, sections 4.2 and 11.6.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/thread_team.h"
#include "mpi/calls.h"

namespace openimb {

/// Divides the marking of partitions among the threads of a team.
class Marking {
 public:
  explicit Marking(int threads) : threads_(threads), rounds_(threads) {}

  /// Marks parts 0 to `parts` - 1 of `messages` messages. The main thread calls this. It returns when all
  /// threads are done, so that no thread uses a request while the main thread completes or restarts it.
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
  /// Marks the thread's share of the parts in each call of mark(). The other threads call this. Returns after
  /// end().
  void serve(int thread) {
    rounds_.serve([this, thread] { mark_share(thread); });
  }

 private:
  /// The first part of a thread. Each thread has contiguous parts, as in OpenMP's static schedule.
  int first_of(int thread) const { return static_cast<int>(std::int64_t{parts_} * thread / threads_); }
  void mark_share(int thread) const {
    for (int message = 0; message < messages_; ++message) {
      for (int part = first_of(thread); part < first_of(thread + 1); ++part) {
        call::pready(part, requests_[message]);
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
