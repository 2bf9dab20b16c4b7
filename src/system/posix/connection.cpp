#include "system/connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include "system/posix/socket_connection.h"

namespace openimb::system {

namespace {

#ifdef MSG_NOSIGNAL
constexpr int no_signal = MSG_NOSIGNAL;
#else
constexpr int no_signal = 0;
#endif

// A thread that wakes up under SCHED_BATCH does not preempt the thread that wakes it. The interleaving server
// wakes rank after rank: if the first one preempted it and polled for the others, these would wait for the
// scheduler's next tick. Any process may set this policy. Policies other than SCHED_OTHER are not changed.
class NoPreemptionScope {
 public:
  NoPreemptionScope() : changed_(change(SCHED_OTHER, batch)) {}
  ~NoPreemptionScope() {
    if (changed_) change(batch, SCHED_OTHER);
  }
  NoPreemptionScope(const NoPreemptionScope&) = delete;
  NoPreemptionScope& operator=(const NoPreemptionScope&) = delete;

 private:
#ifdef SCHED_BATCH
  static constexpr int batch = SCHED_BATCH;
  static bool change(int from, int to) {
    const sched_param none{};
    return sched_getscheduler(0) == from && sched_setscheduler(0, to, &none) == 0;
  }
#else
  static constexpr int batch = SCHED_OTHER;
  static bool change(int, int) { return false; }
#endif
  const bool changed_;
};

class TcpConnection final : public SocketConnection {
 public:
  using SocketConnection::SocketConnection;
  std::optional<char> receive() override {
    const NoPreemptionScope scope;
    return SocketConnection::receive();
  }
};

int connect_to_any(const addrinfo* addresses) {
  int error = 0;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    const int descriptor = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
    if (descriptor >= 0 && connect(descriptor, at->ai_addr, at->ai_addrlen) == 0) return descriptor;
    error = errno;
    if (descriptor >= 0) close(descriptor);
  }
  errno = error;
  return -1;
}

}  // namespace

SocketConnection::~SocketConnection() { close(); }

void SocketConnection::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

// Does not raise SIGPIPE if the other process has ended.
bool SocketConnection::send(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::send(socket_, rest.data(), rest.size(), no_signal);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::optional<char> SocketConnection::receive() {
  char byte = 0;
  ssize_t count = 0;
  do {
    count = recv(socket_, &byte, 1, 0);
  } while (count < 0 && errno == EINTR);
  return count == 1 ? std::optional(byte) : std::nullopt;
}

std::unique_ptr<Connection> connect_tcp(const std::string& host, const std::string& port,
                                        const std::string& greeting) {
  addrinfo hints{}, *addresses = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const std::string where = host + ":" + port + ": ";
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &addresses); error != 0) {
    throw std::runtime_error(where + gai_strerror(error));
  }
  const int socket = connect_to_any(addresses);
  const int error = errno;
  freeaddrinfo(addresses);
  if (socket < 0) throw std::runtime_error(where + std::strerror(error));
  const int at_once = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  auto connection = std::make_unique<TcpConnection>(socket);
  if (!connection->send(greeting)) throw std::runtime_error(where + std::strerror(errno));
  return connection;
}

}  // namespace openimb::system
