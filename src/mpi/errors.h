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

/// MPI's text of an error on one line: of an error stack the last entry, where it began.
std::string error_text(int code);

}  // namespace openimb
