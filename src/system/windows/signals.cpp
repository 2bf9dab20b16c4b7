#include "system/signals.h"

#include <io.h>
#include <windows.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "system/output_file.h"
#include "system/stop_events.h"
#include "system/windows/stop_event.h"

namespace openimb::system {

namespace {

// Windows has no SIGHUP; this is its number on other systems.
constexpr int hangup = 1;
constexpr std::array<StopSignal, 4> caught{
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGBREAK, "SIGBREAK"}, {hangup, "SIGHUP"}}};

// Runs on a thread that the system creates. After the last three events Windows ends the process when the
// handler returns, or some seconds later.
BOOL WINAPI handle(DWORD event) {
  const int number = event == CTRL_C_EVENT       ? SIGINT
                     : event == CTRL_BREAK_EVENT ? SIGBREAK
                     : event == CTRL_CLOSE_EVENT ? hangup
                                                 : SIGTERM;
  on_stop(number);
  SetEvent(stop_event());
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) wait_for_end();
  return TRUE;
}

void CALLBACK at_time(PTP_CALLBACK_INSTANCE, void*, PTP_TIMER) { on_timer(); }

PTP_TIMER timer = nullptr;

}  // namespace

HANDLE stop_event() noexcept {
  static const HANDLE event = CreateEventA(nullptr, TRUE, FALSE, nullptr);
  return event;
}

std::span<const StopSignal> stop_signals() noexcept { return caught; }

void install_stop_handlers() {
  stop_event();
  // A launcher may have started the process with Ctrl-C ignored.
  SetConsoleCtrlHandler(nullptr, FALSE);
  SetConsoleCtrlHandler(handle, TRUE);
}

void prepare_exit_timer() {
  if (timer == nullptr) timer = CreateThreadpoolTimer(at_time, nullptr, nullptr);
}

bool interrupt_main_thread(void (*)() noexcept) noexcept { return false; }

void set_timer(double seconds) noexcept {
  if (timer == nullptr) return;
  if (seconds <= 0) {
    SetThreadpoolTimer(timer, nullptr, 0, 0);
    return;
  }
  // Negative: relative to now, in units of 100 ns.
  ULARGE_INTEGER when{};
  when.QuadPart = static_cast<ULONGLONG>(-static_cast<std::int64_t>(seconds * 1e7));
  FILETIME due{when.LowPart, when.HighPart};
  SetThreadpoolTimer(timer, &due, 0, 0);
}

void wait_for_end() noexcept {
  for (;;) Sleep(INFINITE);
}

// Calling _exit() would run exit code of libraries, which may wait for threads that have ended.
void exit_now(int status) noexcept {
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(status));
  wait_for_end();
}

void write_to_stderr(const char* text, std::size_t length) noexcept {
  _write(descriptor_of(stderr), text, static_cast<unsigned>(length));
}

}  // namespace openimb::system
