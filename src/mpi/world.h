// Owns MPI's environment and communicators.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <utility>

#include "model/options.h"
#include "mpi/errors.h"

namespace openimb {

/// Seconds since 1970-01-01 UTC, by this host's clock.
double time_of_day();

/// When MPI_Init_thread was called, and how long it took.
struct InitCall {
  double began = 0;  ///< time_of_day()
  double seconds = 0;
};

/// Calls MPI_Init_thread, and MPI_Finalize in its destructor. MPI errors end the job (mpi/errors.h), except
/// errors of MPI_Init_thread.
class Environment {
 public:
  Environment(int& argc, char**& argv, ThreadLevel wanted);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  bool started() const { return started_; }
  /// The thread level that MPI granted.
  ThreadLevel thread_level() const { return granted_; }
  const InitCall& init() const { return init_; }

 private:
  InitCall init_;
  bool started_ = false;
  ThreadLevel granted_ = ThreadLevel::single;
};

/// An owned communicator; null on ranks that are not in it.
class Communicator {
 public:
  Communicator() = default;
  explicit Communicator(MPI_Comm owned) : handle_(owned) { make_errors_fatal_on_comm(owned); }
  Communicator(Communicator&& other) noexcept : handle_(other.handle_) { other.handle_ = MPI_COMM_NULL; }
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Communicator() {
    if (handle_ != MPI_COMM_NULL) MPI_Comm_free(&handle_);
  }
  /// Duplicates a communicator. A duplicate of MPI_COMM_NULL is null.
  static Communicator duplicate(MPI_Comm source);
  /// Splits the communicator. Ranks with the same `color` (>= 0) form a new one, ordered by `key`. A rank
  /// with a negative color gets a null communicator.
  Communicator split(int color, int key) const;

  /// Returns a communicator of the ranks on this rank's host, in the same order. Collective.
  static Communicator split_by_host(MPI_Comm all);
  Communicator split_by_host() const { return split_by_host(handle_); }

  MPI_Comm handle() const { return handle_; }
  bool contains_me() const { return handle_ != MPI_COMM_NULL; }
  int rank() const;
  int size() const;

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

/// A dissemination barrier that uses only MPI_Sendrecv and not the library's MPI_Barrier (-imb_barrier).
/// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
void dissemination_barrier(MPI_Comm comm);

/// Version of the MPI standard: "5.0".
std::string mpi_standard();
/// First line of MPI_Get_library_version, blanks condensed.
std::string mpi_library();

}  // namespace openimb
