// The connection to an interleaving server, which the test simulates.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "system/interleave.h"
#include "system/sleep.h"

using openimb::system::Interleave;

namespace {

class Server {
 public:
  Server() : listening_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    REQUIRE(bind(listening_, reinterpret_cast<const sockaddr*>(&address), length) == 0);
    REQUIRE(listen(listening_, 4) == 0);
    REQUIRE(getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~Server() {
    close(listening_);
    hang_up();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  const std::string& port() const { return port_; }
  void accept_one() { connection_ = accept(listening_, nullptr, nullptr); }
  std::string receive(std::size_t length) const {
    std::string text(length, '\0');
    const ssize_t got = recv(connection_, text.data(), length, MSG_WAITALL);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  void answer() const { CHECK(send(connection_, "g", 1, MSG_NOSIGNAL) == 1); }
  void hang_up() {
    if (connection_ >= 0) close(connection_);
    connection_ = -1;
  }

 private:
  int listening_;
  int connection_ = -1;
  std::string port_;
};

}  // namespace

TEST_CASE("a launch sends its token and waits for its turn") {
  Server server;
  Interleave connection("127.0.0.1", server.port(), "token-1");
  server.accept_one();
  CHECK(server.receive(8) == "token-1\n");
  CHECK_FALSE(connection.lost());
  std::thread serve([&] {
    CHECK(server.receive(1) == "r");
    openimb::system::pause_for(0.05);
    server.answer();
    CHECK(server.receive(1) == "p");
    server.answer();
  });
  const auto start = std::chrono::steady_clock::now();
  connection.wait_for_row();
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(45));
  connection.wait_for_segment();
  serve.join();
  CHECK_FALSE(connection.lost());
}

TEST_CASE("a launch does not wait for a server that has ended") {
  Server server;
  Interleave connection("127.0.0.1", server.port(), "t");
  server.accept_one();
  server.hang_up();
  connection.wait_for_row();
  CHECK(connection.lost());
  connection.wait_for_row();
  connection.wait_for_segment();
  CHECK(connection.lost());
}

TEST_CASE("the end of a launch reaches the server") {
  Server server;
  {
    const Interleave connection("localhost", server.port(), "t");
  }
  server.accept_one();
  CHECK(server.receive(2) == "t\n");
  CHECK(server.receive(1).empty());
}

TEST_CASE("without a server there is an error with host and port") {
  std::string port;
  {
    const Server server;
    port = server.port();
  }
  const auto message = [](const std::string& host, const std::string& where) -> std::string {
    try {
      const Interleave connection(host, where, "t");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "connected";
  };
  CHECK(message("127.0.0.1", port) == "-turns: 127.0.0.1:" + port + ": Connection refused");
  CHECK(message("no-such-host.invalid", "1").starts_with("-turns: no-such-host.invalid:1: "));
}
