// The one way out for what one rank alone runs into: one line, the `end` record, MPI_Abort.
#pragma once

#include "session/session.h"

namespace openimb {

inline constexpr int exit_aborted = 5;

/// Installs the terminate handler. An exception without a handler on the stack calls it without unwinding, so
/// that no collective destructor (a barrier, MPI_Win_free) waits for ranks that do not come. Therefore
/// nothing below may catch std::exception. `program`: "IMB-MPI1"; must live as long as the process.
void abort_on_exceptions(const char* program);
/// The same for an error that is no exception: one line with `reason`; does not return.
[[noreturn]] void abort_run(const char* reason);
/// One line about this rank, which goes on: its call under way does not end.
void warn_of_wait(const char* reason);
/// All is reported, but ranks that no longer answer would not come to MPI_Finalize: rank 0 ends the job with
/// this status, the others wait for that.
[[noreturn]] void leave_without_others(int status);
/// What is under way, for that line and that record.
void note_activity(const Activity& activity);
/// Call it before MPI_Init, which must not be called again while it runs, and after it.
void note_start_of_mpi(bool runs);

}  // namespace openimb
