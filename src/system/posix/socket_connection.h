// Inside this folder: a connection over a socket of any type.
#pragma once

#include <optional>
#include <string>

#include "system/connection.h"

namespace openimb::system {

class SocketConnection : public Connection {
 public:
  /// Takes ownership of the socket.
  explicit SocketConnection(int socket) : socket_(socket) {}
  ~SocketConnection() override;
  bool send(const std::string& text) override;
  std::optional<char> receive() override;

 protected:
  int socket() const { return socket_; }
  void close();

 private:
  int socket_;
};

}  // namespace openimb::system
