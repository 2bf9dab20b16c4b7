// Inside this module: the events that request a stop on this system, and a timer.
#pragma once

#include <span>

namespace openimb::system {

struct StopSignal {
  int number = 0;
  const char* name = "";
};
/// At most max_stop_signals of them; constant.
std::span<const StopSignal> stop_signals() noexcept;
/// Makes stop events call on_stop(), in a signal handler or on a thread of the system.
void install_stop_handlers();
void on_stop(int number) noexcept;

/// Makes on_timer() run once after `seconds`, in a signal handler or on a thread of the system. 0 cancels the
/// timer. There is one timer, which prepare_exit_timer() creates.
void set_timer(double seconds) noexcept;
void on_timer() noexcept;

/// Waits forever: another thread ends the process.
[[noreturn]] void wait_for_end() noexcept;

}  // namespace openimb::system
