// How one rank alone ends the job after an error: one line, the `end` record, MPI_Abort.
#pragma once

#include "mpi/errors.h"
#include "session/session.h"

namespace openimb {

/// Installs the terminate handler. An exception without a handler on the stack calls it without unwinding, so
/// that no collective destructor (a barrier, MPI_Win_free) waits for ranks that never call it. Therefore
/// nothing below may catch std::exception. `program`: "IMB-MPI1"; must live as long as the process.
void abort_on_exceptions(const char* program);
/// Ends the job in the same way without an exception, with `reason`.
[[noreturn]] void abort_run(const char* reason);
/// Collective: from now on a rank that ends the job notifies rank 0 before, which writes the `end` record:
/// the launcher then kills rank 0. For launches with a file of records.
void share_aborts(ProcessGroup& world);
/// Prints one line about this rank, whose current call does not return, and returns.
void warn_of_wait(const char* reason);
/// For the end of a launch of which all is reported, but some ranks do not respond and would not call
/// MPI_Finalize: rank 0 ends the job with this status, the others wait for that.
[[noreturn]] void leave_without_others(int status);
/// Sets what is under way, for the line and the record.
void note_activity(const Activity& activity);
/// Call it before MPI_Init with true, as MPI_Init must not be called again while it runs, and after it with
/// false.
void note_start_of_mpi(bool runs);

}  // namespace openimb
