// What happens to errors of MPI: a line on stderr and the end of the job with a documented exit status.
#pragma once

#include <mpi.h>

#include <string>

namespace openimb {

/// Ends the job from this rank alone after a line with `message`; does not return.
using AbortJob = void (*)(const char* message);
void set_abort_job(AbortJob abort_job);

/// Error handlers that name the error and end the job. Made once, after MPI_Init, and never freed.
MPI_Errhandler fatal_errors();
MPI_Errhandler fatal_window_errors();

#ifdef OPENIMB_SESSIONS
/// The same of sessions.
struct SessionErrors {
  MPI_Errhandler view() const;
};
#endif

/// A window's errors come back as the codes of the calls. Not MPI_ERRORS_RETURN: MPICH 5 and Intel MPI 2021
/// swap its value in the standard's binary interface with that of MPI_ERRORS_ABORT.
MPI_Errhandler returned_window_errors();

/// Errors on `comm` come back as codes, until it goes out of scope; then they end the job again.
class ErrorsReturned {
 public:
  explicit ErrorsReturned(MPI_Comm comm);
  ~ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm_;
};

/// MPI's text of an error on one line (mpi/error_reason.h).
std::string error_text(int code);

}  // namespace openimb
