#include "system/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "system/stop_events.h"

namespace openimb::system {

namespace {

constexpr std::array<StopSignal, max_stop_signals> caught{{{SIGINT, "SIGINT"},
                                                           {SIGTERM, "SIGTERM"},
                                                           {SIGUSR1, "SIGUSR1"},
                                                           {SIGUSR2, "SIGUSR2"},
                                                           {SIGHUP, "SIGHUP"}}};

// --- The timer. timer_settime() is async-signal-safe, setitimer() is not. macOS has no such timers and uses
// alarm().

#ifdef __APPLE__
void prepare_timer() {}
#else
timer_t timer{};
bool timer_exists = false;

void prepare_timer() {
  if (timer_exists) return;
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_exists = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
}
#endif

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

pthread_t signal_thread;
std::atomic<void (*)() noexcept> main_thread_work{nullptr};

bool hangup_was_ignored = false;

void note_hangup() {
  struct sigaction action{};
  const bool ignored = sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  hangup_was_ignored = hangup_was_ignored || ignored;
}

// Under nohup SIGHUP is ignored, but MPI libraries install handlers before main(). An executable can have a
// function that runs before theirs. The simulator links this program as a shared library, which cannot.
#if defined(__linux__) && !defined(OPENIMB_SMPI)
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)() = note_hangup;
#endif

}  // namespace

std::span<const StopSignal> stop_signals() noexcept { return caught; }

void install_stop_handlers() {
  // If a pipe is closed or a file has reached its limit, the write must fail, and the run must continue.
  std::signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);
#endif
  note_hangup();
  for (const StopSignal& stop : caught) {
    handle(
        stop.number,
        stop.number == SIGHUP && hangup_was_ignored ? SIG_IGN : [](int number) { on_stop(number); });
  }
}

void prepare_exit_timer() {
  prepare_timer();
  signal_thread = pthread_self();
  handle(SIGALRM, [](int) {
    if (auto* const work = main_thread_work.exchange(nullptr)) return work();
    on_timer();
  });
}

bool interrupt_main_thread(void (*work)() noexcept) noexcept {
  main_thread_work.store(work);
  return pthread_kill(signal_thread, SIGALRM) == 0;
}

void set_timer(double seconds) noexcept {
#ifndef __APPLE__
  if (timer_exists) {
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_nsec = static_cast<decltype(when.it_value.tv_nsec)>(
        (seconds - static_cast<double>(when.it_value.tv_sec)) * 1e9);
    timer_settime(timer, 0, &when, nullptr);
    return;
  }
#endif
  alarm(seconds > 0 ? static_cast<unsigned>(seconds) + 1 : 0);
}

void wait_for_end() noexcept {
  for (;;) pause();
}

void exit_now(int status) noexcept { _exit(status); }

void write_to_stderr(const char* text, std::size_t length) noexcept {
  while (length > 0) {
    const ssize_t count = write(STDERR_FILENO, text, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text += count;
    length -= static_cast<std::size_t>(count);
  }
}

}  // namespace openimb::system
