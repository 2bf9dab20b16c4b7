// Signals that ask for a stop, the end of a process that cannot stop in order, and the `end` record for both.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace openimb::system {

/// The signals that ask for a stop. POSIX: SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP. Windows: SIGINT
/// (Ctrl-C), SIGBREAK (Ctrl-Break), SIGHUP (the console is closed), SIGTERM (logoff or shutdown).
inline constexpr std::size_t most_stop_signals = 5;
std::vector<std::string> stop_signal_names();

/// From now on these signals ask for a stop instead of ending the process. When the stop does not come about
/// within `grace_seconds` (a long point, or a rank that waits for one that has ended; 0: no limit), or a
/// second signal arrives, the process writes the prepared record and exits with 128 + signal. A SIGHUP that
/// was ignored when the process started stays ignored.
void catch_stop_signals(double grace_seconds);
/// "SIGTERM" once one arrived, else empty.
std::string stop_signal();
/// The session has ended in order: no timer ends the process and no prepared record is written any more. A
/// second signal still ends it, so that a hanging MPI_Finalize can be interrupted.
void disarm_stop();

/// Lines of at most 512 bytes: one per stop signal, and the two parts of a record that an abort completes
/// with its reason.
struct EndRecords {
  std::vector<std::string> by_signal;  ///< in the order of stop_signal_names()
  std::string before_reason, after_reason;
};
/// Prepares what the handlers write to `file`; a handler may run at the same time. Null: nothing will be
/// written.
void prepare_end_record(std::FILE* file, const EndRecords& records);

/// Writes the prepared record of an abort, once. Async-signal-safe. False where there is nothing to write, or
/// some end was written before.
bool write_abort_record(const char* reason) noexcept;
/// Ends the process with this status after so many seconds, whatever it does until then. Async-signal-safe
/// once catch_stop_signals() or prepare_exit_timer() was called.
void exit_after(double seconds, int status) noexcept;
/// Called by the main thread: creates the timer of exit_after().
void prepare_exit_timer();
/// Another thread has the main thread call `work`, in a signal handler. False where that is not possible
/// (Windows).
bool interrupt_main_thread(void (*work)() noexcept) noexcept;
/// Ends the process at once, without destructors.
[[noreturn]] void exit_now(int status) noexcept;
/// Writes to standard error without allocating.
void write_to_stderr(const char* text, std::size_t length) noexcept;

}  // namespace openimb::system
