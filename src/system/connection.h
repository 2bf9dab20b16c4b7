// Inside this module: a connection to another process.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace openimb::system {

class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Sends all bytes. Returns false if the other end is closed.
  virtual bool send(const std::string& text) = 0;
  /// Waits for one byte. Returns nothing at the end of the connection.
  virtual std::optional<char> receive() = 0;
};

/// Connects over TCP, without delaying small messages, and sends `greeting`. Throws std::runtime_error with
/// "host:port: reason".
std::unique_ptr<Connection> connect_tcp(const std::string& host, const std::string& port,
                                        const std::string& greeting);

}  // namespace openimb::system
