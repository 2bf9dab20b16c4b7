// Inside this module: what asks for a stop on this system, and a timer.
#pragma once

#include <span>

namespace openimb::system {

struct StopSignal {
  int number = 0;
  const char* name = "";
};
/// Constant. At most most_stop_signals.
std::span<const StopSignal> stop_signals() noexcept;
/// From now on they call on_stop(), in a handler or on a thread of its own.
void install_stop_handlers();
void on_stop(int number) noexcept;

/// Calls on_timer() once, in a handler or on a thread of its own, after so many seconds; 0: not at all. There
/// is one timer, prepare_exit_timer() creates it.
void set_timer(double seconds) noexcept;
void on_timer() noexcept;

/// Does not return: another thread ends the process.
[[noreturn]] void wait_for_end() noexcept;

}  // namespace openimb::system
