#include "system/signals.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "system/output_file.h"
#include "system/stop_events.h"

namespace openimb::system {

namespace {

// --- The prepared record

struct Line {
  std::array<char, 512> text{};
  std::size_t length = 0;
  void assign(const std::string& from) {
    length = std::min(from.size(), text.size());
    std::memcpy(text.data(), from.data(), length);
  }
};
struct PreparedRecord {
  std::array<Line, max_stop_signals> by_signal;
  Line before_reason, after_reason;
};
// Two sets: a handler reads the set that is not being written.
std::array<PreparedRecord, 2> prepared;
std::atomic<int> current_set{-1};
int record_descriptor = -1;
std::atomic<bool> record_written{false};

bool claim_record() {
  bool written = false;
  return record_written.compare_exchange_strong(written, true);
}

// --- Leaving without an orderly end

enum class Phase { running, ended, leaving };
std::atomic<Phase> phase{Phase::running};
std::atomic<int> arrived{0};
std::atomic<int> timed_status{-1};  // of exit_after(); -1: the timer belongs to a stop signal
double grace = 0;

[[noreturn]] void write_record_and_exit() {
  const int set = current_set.load();
  const auto signals = stop_signals();
  for (std::size_t i = 0; set >= 0 && i < signals.size(); ++i) {
    if (signals[i].number != arrived.load() || !claim_record()) continue;
    const Line& line = prepared[static_cast<std::size_t>(set)].by_signal[i];
    write_all(record_descriptor, line.text.data(), line.length);
  }
  exit_now(128 + arrived.load());
}

bool begin_leaving() {
  Phase running = Phase::running;
  return phase.compare_exchange_strong(running, Phase::leaving);
}

}  // namespace

void on_timer() noexcept {
  if (const int status = timed_status.load(); status >= 0) exit_now(status);
  if (begin_leaving()) write_record_and_exit();
}

void on_stop(int number) noexcept {
  if (timed_status.load() >= 0) return;  // an abort is under way
  int none = 0;
  if (!arrived.compare_exchange_strong(none, number)) {
    if (begin_leaving()) write_record_and_exit();
    if (phase.load() == Phase::ended) exit_now(128 + number);
    return;  // another thread is leaving
  }
  const int error = errno;
  if (grace > 0 && phase.load() == Phase::running) set_timer(grace);
  errno = error;
}

std::vector<std::string> stop_signal_names() {
  std::vector<std::string> names;
  for (const StopSignal& signal : stop_signals()) names.emplace_back(signal.name);
  return names;
}

void catch_stop_signals(double grace_seconds) {
  grace = grace_seconds;
  prepare_exit_timer();
  install_stop_handlers();
}

std::string stop_signal() {
  for (const StopSignal& signal : stop_signals()) {
    if (signal.number == arrived.load()) return signal.name;
  }
  return "";
}

void disarm_stop() {
  Phase running = Phase::running;
  if (!phase.compare_exchange_strong(running, Phase::ended) && running == Phase::leaving) {
    wait_for_end();  // another thread is writing the record and will end the process
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
  PreparedRecord& next = prepared[static_cast<std::size_t>(set)];
  for (std::size_t i = 0; i < stop_signals().size(); ++i) next.by_signal[i].assign(records.by_signal.at(i));
  next.before_reason.assign(records.before_reason);
  next.after_reason.assign(records.after_reason);
  record_descriptor = descriptor_of(file);
  current_set.store(set);
}

bool write_abort_record(const char* reason) noexcept {
  const int set = current_set.load();
  if (set < 0 || !claim_record()) return false;
  const PreparedRecord& parts = prepared[static_cast<std::size_t>(set)];
  static Line record;
  const auto append = [](const char* text, std::size_t length) {
    length = std::min(length, record.text.size() - record.length);
    std::memcpy(record.text.data() + record.length, text, length);
    record.length += length;
  };
  const std::size_t room = record.text.size() - std::min(record.text.size(), parts.before_reason.length +
                                                                                 parts.after_reason.length);
  append(parts.before_reason.text.data(), parts.before_reason.length);
  for (std::size_t i = 0; i < room && reason[i] != '\0'; ++i) {
    // Replaces what JSON would escape.
    const char c = reason[i];
    const char plain = c < ' ' || c > '~' || c == '\\' ? '?' : c == '"' ? '\'' : c;
    append(&plain, 1);
  }
  append(parts.after_reason.text.data(), parts.after_reason.length);
  write_all(record_descriptor, record.text.data(), record.length);
  return true;
}

void exit_after(double seconds, int status) noexcept {
  timed_status.store(status);
  set_timer(seconds);
}

}  // namespace openimb::system
