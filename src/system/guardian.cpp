#include "system/guardian.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "system/guardian_process.h"
#include "system/machine.h"
#include "system/scratch_files.h"
#include "system/scratch_lock.h"
#include "system/signals.h"
#include "system/sleep.h"

namespace openimb::system {

namespace {

using State = ScratchLock::State;

// Requests; the answer is one byte, `yes` or `no`. Texts end with a zero byte.
constexpr char reserve_request = 'c', reserve_unused_request = 'u', release_request = 'r';
constexpr char dismiss_request = 'd', yes = 'y', no = 'n';

std::optional<std::string> receive_text(Connection& launch) {
  std::string text;
  for (;;) {
    const std::optional<char> byte = launch.receive();
    if (!byte) return std::nullopt;
    if (*byte == '\0') return text;
    text += *byte;
  }
}

/// The files that the guardian was asked to delete.
class GuardedFiles {
 public:
  bool reserve(const std::string& base, const std::string& token, bool only_unused) {
    constexpr int most_steps = 250;
    constexpr double step_seconds = 0.02;
    lock_.emplace(base, token);
    State state = lock_->take();
    for (int step = 0; state == State::cleaning && step < most_steps; ++step) {
      pause_for(step_seconds);
      state = lock_->take();
    }
    const bool taken = state == State::held || state == State::shared || state == State::none;
    if (!taken || (only_unused && !lock_->was_abandoned() && !scratch_files(base).empty())) {
      lock_.reset();
      return false;
    }
    base_ = base;
    return true;
  }
  void release() { lock_.reset(); }

  // Deletes the files of a launch that has ended or was killed. Other ranks may run a little longer and
  // create files again: it stops when there have been none for a second.
  void clean() {
    constexpr int most_rounds = 15, quiet_rounds = 5;
    constexpr double between_seconds = 0.2;
    if (!lock_) return;
    lock_->mark_cleaning();
    for (int round = 0, quiet = 0; round < most_rounds && quiet < quiet_rounds; ++round) {
      const State state = lock_->take();  // another process may have held it and ended
      if (state == State::busy || state == State::cleaning) return;
      lock_->mark_cleaning();
      quiet = delete_scratch_files(base_) > 0 ? 0 : quiet + 1;
      pause_for(between_seconds);
    }
    lock_.reset();
  }

 private:
  std::string base_;
  std::optional<ScratchLock> lock_;
};

void guard(Connection& launch) {
  GuardedFiles files;
  for (;;) {
    const std::optional<char> request = launch.receive();
    if (request == reserve_request || request == reserve_unused_request) {
      const std::optional<std::string> token = receive_text(launch), base = receive_text(launch);
      if (!token || !base) continue;
      const bool done = files.reserve(*base, *token, request == reserve_unused_request);
      launch.send(std::string(1, done ? yes : no));
      continue;
    }
    if (request == release_request || request == dismiss_request) {
      files.release();
      launch.send(std::string(1, yes));
      if (request == release_request) continue;
    } else {
      files.clean();
    }
    return;
  }
}

}  // namespace

std::string launch_token() {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return host_name() + " " + std::to_string(process_number()) + " " + std::to_string(now.count());
}

void be_guardian_if_asked(int argc, char** argv) {
  const std::unique_ptr<Connection> launch = launch_of_guardian(argc, argv);
  if (!launch) return;
  guard(*launch);
  exit_now(0);
}

Guardian::Guardian() : process_(start_guardian(guard)) {}

Guardian::~Guardian() {
  if (process_) ask(std::string(1, dismiss_request));
}

// True also where there is no guardian, or it has ended: the launch continues without protection.
bool Guardian::ask(const std::string& request) const {
  if (!process_ || !process_->send(request)) return true;
  return process_->receive().value_or(yes) == yes;
}

bool Guardian::reserve(const std::string& base, const std::string& token, bool only_unused) const {
  std::string request(1, only_unused ? reserve_unused_request : reserve_request);
  ((request += token) += '\0') += base;
  return ask(request += '\0');
}

void Guardian::release() const { ask(std::string(1, release_request)); }

void delete_abandoned(const std::string& base) {
  for (int number = 2; number < 100; ++number) {
    const std::string other = base + "." + std::to_string(number);
    std::error_code unused;
    if (!std::filesystem::exists(lock_file_of(other), unused)) continue;
    ScratchLock lock(other, launch_token());
    if (lock.take() == State::held && lock.was_abandoned()) delete_scratch_files(other);
  }
}

}  // namespace openimb::system
