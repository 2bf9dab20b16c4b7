#include "system/guardian.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <vector>

#include "system/machine.h"
#include "system/scratch_files.h"
#include "system/scratch_lock.h"
#include "system/sleep.h"

namespace openimb::system {

namespace {

using State = ScratchLock::State;

// Requests; the answer is one byte, `yes` or `no`. Texts end with a zero byte.
constexpr char reserve_request = 'c', reserve_unused_request = 'u', release_request = 'r';
constexpr char dismiss_request = 'd', yes = 'y', no = 'n';

#ifdef MSG_NOSIGNAL
constexpr int no_signal = MSG_NOSIGNAL;
#else
constexpr int no_signal = 0;
#endif

bool send_all(int socket, const std::string& text) {
  return send(socket, text.data(), text.size(), no_signal) == static_cast<ssize_t>(text.size());
}

/// One byte, or nothing at the end of the connection.
std::optional<char> receive(int socket) {
  char byte = 0;
  ssize_t count = 0;
  do {
    count = read(socket, &byte, 1);
  } while (count < 0 && errno == EINTR);
  return count == 1 ? std::optional(byte) : std::nullopt;
}

std::optional<std::string> receive_text(int socket) {
  std::string text;
  for (;;) {
    const std::optional<char> byte = receive(socket);
    if (!byte) return std::nullopt;
    if (*byte == '\0') return text;
    text += *byte;
  }
}

// Leaves the launcher's process group and terminal, and closes every descriptor that another process may wait
// for.
void detach(int keep) {
  setsid();
  std::set_terminate([] { _exit(1); });  // the launch then goes on without a guardian
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) dup2(nothing, descriptor);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGPIPE}) {
    std::signal(signal, SIG_IGN);
  }
  std::vector<int> descriptors;
  if (DIR* const open = opendir("/proc/self/fd")) {
    while (const dirent* const entry = readdir(open)) {
      descriptors.push_back(
          static_cast<int>(std::strtol(static_cast<const char*>(entry->d_name), nullptr, 10)));
    }
    closedir(open);
  }
  for (const int descriptor : descriptors) {
    if (descriptor > 2 && descriptor != keep) close(descriptor);
  }
}

/// The guardian's side: what it was asked to watch.
class Watch {
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

  // The launch has ended by itself or by force. Other ranks may live a little longer and create files again.
  void clean() {
    constexpr int rounds = 15;
    constexpr double between_seconds = 0.2;
    if (!lock_) return;
    lock_->mark_cleaning();
    for (int round = 0; round < rounds; ++round) {
      const State state = lock_->take();  // it was shared, perhaps, and its holder has gone
      if (state == State::busy || state == State::cleaning) return;
      lock_->mark_cleaning();
      delete_scratch_files(base_);
      pause_for(between_seconds);
    }
    lock_.reset();
  }

 private:
  std::string base_;
  std::optional<ScratchLock> lock_;
};

[[noreturn]] void guard(int socket) {
  Watch watch;
  for (;;) {
    const std::optional<char> request = receive(socket);
    if (request == reserve_request || request == reserve_unused_request) {
      const std::optional<std::string> token = receive_text(socket), base = receive_text(socket);
      if (!token || !base) continue;
      const bool done = watch.reserve(*base, *token, request == reserve_unused_request);
      send_all(socket, std::string(1, done ? yes : no));
      continue;
    }
    if (request == release_request || request == dismiss_request) {
      watch.release();
      send_all(socket, std::string(1, yes));
      if (request == release_request) continue;
    } else {
      watch.clean();
    }
    _exit(0);
  }
}

}  // namespace

std::string launch_token() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return host_name() + " " + std::to_string(getpid()) + " " +
         std::to_string(now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec);
}

Guardian::Guardian() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  process_ = fork();
  if (process_ == 0) {
    detach(ends[1]);
    guard(ends[1]);
  }
  close(ends[1]);
  if (process_ < 0) {
    close(ends[0]);
    return;
  }
  socket_ = ends[0];
}

Guardian::~Guardian() {
  if (socket_ < 0) return;
  ask(std::string(1, dismiss_request));
  close(socket_);
  waitpid(process_, nullptr, 0);
}

// True also where there is no guardian, or it has gone: the launch goes on without protection.
bool Guardian::ask(const std::string& request) const {
  if (socket_ < 0 || !send_all(socket_, request)) return true;
  return receive(socket_).value_or(yes) == yes;
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
    if (access(lock_file_of(other).c_str(), F_OK) != 0) continue;
    ScratchLock lock(other, launch_token());
    if (lock.take() == State::held && lock.was_abandoned()) delete_scratch_files(other);
  }
}

}  // namespace openimb::system
