// Ends the job from one rank after an error: prints one line, writes the `end` record, calls MPI_Abort.
#pragma once

#include "mpi/errors.h"
#include "session/session.h"

namespace openimb {

/// Installs the terminate handler. An uncaught exception calls it without unwinding the stack, so no
/// collective destructor (a barrier, MPI_Win_free) waits for ranks that never call it. Therefore no function
/// below run() may catch std::exception. `program`: "IMB-MPI1"; must live as long as the process.
void abort_on_exceptions(const char* program);
/// Ends the job in the same way, with `reason` in place of an exception's text.
[[noreturn]] void abort_run(const char* reason);
/// Collective. From now on a rank that ends the job first sends its reason to rank 0, which writes the `end`
/// record before the launcher kills it. Needed only in launches that write records (-json).
void share_aborts(ProcessGroup& world);
/// Prints that the current call of this rank does not return. The job continues.
void warn_of_blocked_call(const char* reason);
/// Ends a launch after its results are reported, although some ranks do not respond and MPI_Finalize would
/// wait for them. Rank 0 ends the job with this status, and the other ranks wait for it.
[[noreturn]] void leave_without_others(int status);
/// Sets the current activity, which the line and the record of an abort name.
void note_activity(const Activity& activity);
/// Call it with true before MPI_Init and with false after it: an abort during MPI_Init must not call MPI_Init
/// again.
void note_start_of_mpi(bool starting);

}  // namespace openimb
