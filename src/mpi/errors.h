// Error handlers: after an MPI error, a rank prints a line on stderr and ends the job with a documented exit
// status.
#pragma once

#include <mpi.h>

#include <string>

namespace openimb {

/// Prints a line with `message` and ends the job from this rank alone. Does not return.
using AbortJob = void (*)(const char* message);
void set_abort_job(AbortJob abort_job);

/// Call it right after MPI_Init: from then on an error is reported and ends the job, unless another of our
/// handlers returns it. Errors of calls without a communicator (types, operations, info) go to MPI_COMM_SELF
/// since MPI 4, and to MPI_COMM_WORLD before. The owner of a communicator or window sets the same handler in
/// its constructor, by the next two functions; these do nothing for a null handle.
void make_errors_fatal();
void make_errors_fatal_on_comm(MPI_Comm comm);
void make_errors_fatal_on_window(MPI_Win win);

#ifdef OPENIMB_SESSIONS
/// The handler for errors of calls on sessions.
struct SessionErrors {
  MPI_Errhandler view() const;
};
#endif

/// Makes calls on the window return their errors as codes. MPI_ERRORS_RETURN cannot be used: MPICH 5 and
/// Intel MPI 2021 swap its value in the standard ABI with the value of MPI_ERRORS_ABORT.
void return_errors_on_window(MPI_Win win);

/// During its lifetime, calls on `comm` and calls without a communicator return their errors as codes. The
/// destructor makes errors fatal again, so scopes must not be nested.
class ReturnErrorsScope {
 public:
  explicit ReturnErrorsScope(MPI_Comm comm = MPI_COMM_NULL);
  ~ReturnErrorsScope();
  ReturnErrorsScope(const ReturnErrorsScope&) = delete;
  ReturnErrorsScope& operator=(const ReturnErrorsScope&) = delete;

 private:
  MPI_Comm comm_;
};

/// Reason of an MPI error, in one line (mpi/error_reason.h).
std::string error_text(int code);

}  // namespace openimb
