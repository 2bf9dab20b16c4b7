// Signals that request a stop, the forced end of a process, and the `end` record for both.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace openimb::system {

/// The signals that request a stop. POSIX: SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP. Windows: SIGINT
/// (Ctrl-C), SIGBREAK (Ctrl-Break), SIGHUP (the console is closed), SIGTERM (logoff or shutdown).
inline constexpr std::size_t max_stop_signals = 5;
std::vector<std::string> stop_signal_names();

/// Makes these signals request a stop instead of ending the process. If the stop takes longer than
/// `grace_seconds` (a long point, or a rank that waits for one that has ended; 0: no limit), or a second
/// signal arrives, the process writes the prepared record and exits with 128 + signal. A SIGHUP that was
/// ignored when the process started stays ignored.
void catch_stop_signals(double grace_seconds);
/// Name of the signal that requested a stop ("SIGTERM"); empty before one arrives.
std::string stop_signal();
/// Call it when the session has ended normally. From then on no timer ends the process, and no prepared
/// record is written. A second signal still ends the process, so that a hanging MPI_Finalize can be
/// interrupted.
void disarm_stop();

/// One line per stop signal, and the two parts of a record that an abort completes with its reason. A line
/// has at most 512 bytes.
struct EndRecords {
  std::vector<std::string> by_signal;  ///< in the order of stop_signal_names()
  std::string before_reason, after_reason;
};
/// Prepares what the handlers write to `file`. A handler may run at the same time. If `file` is null,
/// handlers write nothing.
void prepare_end_record(std::FILE* file, const EndRecords& records);

/// Writes the prepared record of an abort, at most once. Returns false if there is none or an `end` record
/// was written before. Async-signal-safe.
bool write_abort_record(const char* reason) noexcept;
/// Ends the process with `status` after `seconds`, even if it hangs. Async-signal-safe once
/// catch_stop_signals() or prepare_exit_timer() was called.
void exit_after(double seconds, int status) noexcept;
/// Creates the timer of exit_after(). Call it on the main thread.
void prepare_exit_timer();
/// Makes the main thread call `work` in a signal handler. Call it on another thread. Returns false if that is
/// not possible (Windows).
bool interrupt_main_thread(void (*work)() noexcept) noexcept;
/// Ends the process at once, without destructors.
[[noreturn]] void exit_now(int status) noexcept;
/// Writes to standard error without allocating memory.
void write_to_stderr(const char* text, std::size_t length) noexcept;

}  // namespace openimb::system
