#include "system/connection.h"

#include <winsock2.h>
#include <ws2tcpip.h>

#include <stdexcept>

#include "system/windows/last_error.h"

namespace openimb::system {

namespace {

/// Starts Winsock, and ends it in the destructor.
class Winsock {
 public:
  Winsock() : error_(WSAStartup(MAKEWORD(2, 2), &facts_)) {}
  ~Winsock() {
    if (error_ == 0) WSACleanup();
  }
  Winsock(const Winsock&) = delete;
  Winsock& operator=(const Winsock&) = delete;
  int error() const { return error_; }

 private:
  WSADATA facts_{};
  int error_;
};

class TcpConnection final : public Connection {
 public:
  ~TcpConnection() override {
    if (socket_ != INVALID_SOCKET) closesocket(socket_);
  }
  /// Returns 0, or an error of Winsock.
  int open(const char* host, const char* port) {
    if (winsock_.error() != 0) return winsock_.error();
    addrinfo hints{}, *addresses = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (const int error = getaddrinfo(host, port, &hints, &addresses); error != 0) return error;
    const int error = connect_one_of(addresses);
    freeaddrinfo(addresses);
    if (error != 0) return error;
    const BOOL at_once = TRUE;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, reinterpret_cast<const char*>(&at_once), sizeof at_once);
    return 0;
  }
  bool send(const std::string& text) override {
    return ::send(socket_, text.data(), static_cast<int>(text.size()), 0) == static_cast<int>(text.size());
  }
  std::optional<char> receive() override {
    char byte = 0;
    return recv(socket_, &byte, 1, 0) == 1 ? std::optional(byte) : std::nullopt;
  }

 private:
  int connect_one_of(const addrinfo* addresses) {
    int error = WSAHOST_NOT_FOUND;
    for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
      socket_ = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
      if (socket_ != INVALID_SOCKET && connect(socket_, at->ai_addr, static_cast<int>(at->ai_addrlen)) == 0)
        return 0;
      error = WSAGetLastError();
      if (socket_ != INVALID_SOCKET) closesocket(socket_);
      socket_ = INVALID_SOCKET;
    }
    return error;
  }

  const Winsock winsock_;
  SOCKET socket_ = INVALID_SOCKET;
};

}  // namespace

std::unique_ptr<Connection> connect_tcp(const std::string& host, const std::string& port,
                                        const std::string& greeting) {
  auto connection = std::make_unique<TcpConnection>();
  int error = connection->open(host.c_str(), port.c_str());
  if (error == 0 && !connection->send(greeting)) error = WSAGetLastError();
  if (error != 0) {
    throw std::runtime_error(host + ":" + port + ": " + error_text(static_cast<unsigned long>(error)));
  }
  return connection;
}

}  // namespace openimb::system
