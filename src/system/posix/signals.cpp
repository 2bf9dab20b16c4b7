#include "system/signals.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "system/output_file.h"

namespace openimb::system {

namespace {

constexpr std::array<std::pair<int, const char*>, stop_signal_count> stop_signals{{{SIGINT, "SIGINT"},
                                                                                   {SIGTERM, "SIGTERM"},
                                                                                   {SIGUSR1, "SIGUSR1"},
                                                                                   {SIGUSR2, "SIGUSR2"},
                                                                                   {SIGHUP, "SIGHUP"}}};

// --- The prepared record

struct Line {
  std::array<char, 512> text{};
  std::size_t length = 0;
  void assign(const std::string& from) {
    length = std::min(from.size(), text.size());
    std::memcpy(text.data(), from.data(), length);
  }
};
struct Prepared {
  std::array<Line, stop_signal_count> by_signal;
  Line before_reason, after_reason;
};
// Two sets: a handler reads the set that is not being written.
std::array<Prepared, 2> prepared;
std::atomic<int> current_set{-1};
int record_descriptor = -1;
std::atomic<bool> record_written{false};

bool first_to_write() {
  bool written = false;
  return record_written.compare_exchange_strong(written, true);
}

// --- Leaving without an orderly end

enum class Phase { running, ended, leaving };
std::atomic<Phase> phase{Phase::running};
std::atomic<int> arrived{0};
std::atomic<int> timed_status{-1};  // of exit_after(); -1: the timer belongs to a stop signal
double grace = 0;

[[noreturn]] void leave() {
  const int set = current_set.load();
  for (std::size_t i = 0; set >= 0 && i < stop_signal_count; ++i) {
    if (stop_signals[i].first != arrived.load() || !first_to_write()) continue;
    const Line& line = prepared[static_cast<std::size_t>(set)].by_signal[i];
    write_whole(record_descriptor, line.text.data(), line.length);
  }
  _exit(128 + arrived.load());
}

bool start_leaving() {
  Phase running = Phase::running;
  return phase.compare_exchange_strong(running, Phase::leaving);
}

// --- The timer. timer_settime is async-signal-safe, setitimer is not; macOS has no timers of its own.

#ifdef __APPLE__
void prepare_timer() {}
void set_timer(double seconds) { alarm(seconds > 0 ? static_cast<unsigned>(seconds) + 1 : 0); }
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

void set_timer(double seconds) {
  if (!timer_exists) {
    alarm(seconds > 0 ? static_cast<unsigned>(seconds) + 1 : 0);
    return;
  }
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(seconds);
  when.it_value.tv_nsec = static_cast<decltype(when.it_value.tv_nsec)>(
      (seconds - static_cast<double>(when.it_value.tv_sec)) * 1e9);
  timer_settime(timer, 0, &when, nullptr);
}
#endif

void on_alarm(int) {
  if (const int status = timed_status.load(); status >= 0) _exit(status);
  if (start_leaving()) leave();
}

void on_stop(int signal) {
  if (timed_status.load() >= 0) return;  // an abort is under way
  int none = 0;
  if (!arrived.compare_exchange_strong(none, signal)) {
    if (start_leaving()) leave();
    if (phase.load() == Phase::ended) _exit(128 + signal);
    return;  // another thread is leaving
  }
  const int error = errno;
  if (grace > 0 && phase.load() == Phase::running) set_timer(grace);
  errno = error;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

bool hangup_was_ignored = false;

void note_hangup() {
  struct sigaction action{};
  const bool ignored = sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  hangup_was_ignored = hangup_was_ignored || ignored;
}

// Under nohup SIGHUP is ignored, but libraries of MPI install handlers before main() begins. An executable
// may have a function that runs before theirs; the simulator links this program as a shared library, which
// may not.
#if defined(__linux__) && !defined(OPENIMB_SMPI)
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)() = note_hangup;
#endif

}  // namespace

const char* stop_signal_name(std::size_t index) { return stop_signals.at(index).second; }

void catch_stop_signals(double grace_seconds) {
  grace = grace_seconds;
  // A closed pipe, or a file at its limit, fails the write instead of ending the run.
  std::signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);
#endif
  prepare_exit_timer();
  note_hangup();
  for (const auto& [signal, name] : stop_signals) {
    handle(signal, signal == SIGHUP && hangup_was_ignored ? SIG_IGN : on_stop);
  }
}

std::string stop_signal() {
  for (const auto& [signal, name] : stop_signals) {
    if (signal == arrived.load()) return name;
  }
  return "";
}

void disarm_stop() {
  Phase running = Phase::running;
  if (!phase.compare_exchange_strong(running, Phase::ended) && running == Phase::leaving) {
    for (;;) pause();  // another thread is writing the record and will end the process
  }
  set_timer(0);
  current_set.store(-1);
}

void prepare_end_record(std::FILE* file, const EndRecords& records) {
  if (file == nullptr) {
    current_set.store(-1);
    return;
  }
  const int set = current_set.load() == 0 ? 1 : 0;
  Prepared& next = prepared[static_cast<std::size_t>(set)];
  for (std::size_t i = 0; i < stop_signal_count; ++i) next.by_signal[i].assign(records.by_signal[i]);
  next.before_reason.assign(records.before_reason);
  next.after_reason.assign(records.after_reason);
  record_descriptor = fileno(file);
  current_set.store(set);
}

void write_abort_record(const char* reason) noexcept {
  const int set = current_set.load();
  if (set < 0 || !first_to_write()) return;
  const Prepared& parts = prepared[static_cast<std::size_t>(set)];
  static Line whole;
  const auto append = [](const char* text, std::size_t length) {
    length = std::min(length, whole.text.size() - whole.length);
    std::memcpy(whole.text.data() + whole.length, text, length);
    whole.length += length;
  };
  const std::size_t room =
      whole.text.size() - std::min(whole.text.size(), parts.before_reason.length + parts.after_reason.length);
  append(parts.before_reason.text.data(), parts.before_reason.length);
  for (std::size_t i = 0; i < room && reason[i] != '\0'; ++i) {
    // Nothing that JSON would escape.
    const char c = reason[i];
    const char plain = c < ' ' || c > '~' || c == '\\' ? '?' : c == '"' ? '\'' : c;
    append(&plain, 1);
  }
  append(parts.after_reason.text.data(), parts.after_reason.length);
  write_whole(record_descriptor, whole.text.data(), whole.length);
}

void prepare_exit_timer() {
  prepare_timer();
  handle(SIGALRM, on_alarm);
}

void exit_after(double seconds, int status) noexcept {
  timed_status.store(status);
  set_timer(seconds);
}

void exit_now(int status) noexcept { _exit(status); }

void write_to_stderr(const char* text, std::size_t length) noexcept {
  while (length > 0) {
    const ssize_t count = write(STDERR_FILENO, text, length);
    if (count <= 0) return;
    text += count;
    length -= static_cast<std::size_t>(count);
  }
}

}  // namespace openimb::system
