#include "system/interleave.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace openimb::system {

namespace {

#ifdef MSG_NOSIGNAL
constexpr int no_signal = MSG_NOSIGNAL;
#else
constexpr int no_signal = 0;
#endif

// All bytes or none; a server that has ended must not cause a SIGPIPE.
bool send_all(int socket, const std::string& text) {
  return send(socket, text.data(), text.size(), no_signal) == static_cast<ssize_t>(text.size());
}

// A thread that is woken as SCHED_BATCH does not take the CPU away from who wakes it. The interleaving server wakes
// rank after rank; were it displaced by the first, which then polls for the others, these would wait for the
// scheduler's next tick. Allowed to everyone. Other policies than the usual one are left alone.
class WakesPatiently {
 public:
  WakesPatiently() : changed_(change(SCHED_OTHER, patient)) {}
  ~WakesPatiently() {
    if (changed_) change(patient, SCHED_OTHER);
  }
  WakesPatiently(const WakesPatiently&) = delete;
  WakesPatiently& operator=(const WakesPatiently&) = delete;

 private:
#ifdef SCHED_BATCH
  static constexpr int patient = SCHED_BATCH;
  static bool change(int from, int to) {
    const sched_param none{};
    return sched_getscheduler(0) == from && sched_setscheduler(0, to, &none) == 0;
  }
#else
  static constexpr int patient = SCHED_OTHER;
  static bool change(int, int) { return false; }
#endif
  const bool changed_;
};

int connected(const addrinfo* addresses) {
  int error = 0;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    const int made = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (made >= 0 && connect(made, at->ai_addr, at->ai_addrlen) == 0) return made;
    error = errno;
    if (made >= 0) close(made);
  }
  errno = error;
  return -1;
}

}  // namespace

Interleave::Interleave(const std::string& host, const std::string& port, const std::string& token) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const std::string where = "-turns: " + host + ":" + port + ": ";
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    throw std::runtime_error(where + gai_strerror(error));
  }
  socket_ = connected(found);
  const int error = errno;
  freeaddrinfo(found);
  if (socket_ < 0) throw std::runtime_error(where + std::strerror(error));
  const int at_once = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (!send_all(socket_, token + "\n")) {
    const int send_error = errno;
    close(socket_);
    throw std::runtime_error(where + std::strerror(send_error));
  }
}

Interleave::~Interleave() {
  if (socket_ >= 0) close(socket_);
}

void Interleave::take(bool row) {
  const WakesPatiently patiently;
  if (!lost_) lost_ = !send_all(socket_, row ? "r" : "p");
  if (lost_) return;
  char answer = 0;
  ssize_t got = 0;
  do {
    got = recv(socket_, &answer, 1, 0);
  } while (got < 0 && errno == EINTR);
  lost_ = got != 1;
}

}  // namespace openimb::system
