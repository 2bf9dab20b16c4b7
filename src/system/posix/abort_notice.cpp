#include "system/abort_notice.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "system/machine.h"

namespace openimb::system {

namespace {

using Secret = std::array<std::uint32_t, 4>;

/// A datagram with a reason. The answer has only the secret.
struct Notice {
  Secret secret{};
  std::array<char, 400> reason{};
};

Secret launch_secret{};

// --- Rank 0

int receiving = -1;
pthread_t main_thread;
bool (*take_notice)(const char*) noexcept = nullptr;

void on_datagram(int number) {
  const int error = errno;
  if (pthread_equal(pthread_self(), main_thread) == 0) {
    pthread_kill(main_thread, number);  // a thread of the MPI library got the signal
    errno = error;
    return;
  }
  bool taken = false;
  Notice notice;
  sockaddr_in from{};
  socklen_t length = sizeof from;
  while (recvfrom(receiving, &notice, sizeof notice, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from),
                  &length) == sizeof notice) {
    notice.reason.back() = '\0';
    // If there is no answer, the sender tries again, because this rank may not have prepared its record yet.
    if (notice.secret == launch_secret && take_notice(notice.reason.data())) {
      taken = true;
      sendto(receiving, launch_secret.data(), sizeof launch_secret, 0, reinterpret_cast<sockaddr*>(&from),
             length);
    }
    length = sizeof from;
  }
  while (taken) pause();
  errno = error;
}

std::vector<std::string> host_addresses() {
  constexpr std::size_t most = 16;
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* at = all; at != nullptr && addresses.size() < most; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET || (at->ifa_flags & IFF_UP) == 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* const address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) == nullptr) continue;
    addresses.emplace_back(text.data());
  }
  freeifaddrs(all);
  return addresses;
}

// Returns the port, or 0 on failure.
int open_receiver() {
  receiving = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  const bool bound = receiving >= 0 && fcntl(receiving, F_SETFD, FD_CLOEXEC) == 0 &&
                     bind(receiving, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 &&
                     getsockname(receiving, reinterpret_cast<sockaddr*>(&any), &length) == 0;
  return bound ? ntohs(any.sin_port) : 0;
}

// Makes each datagram raise SIGIO. Returns false if that is not possible.
bool enable_signals() {
  struct sigaction action{};
  if (sigaction(SIGIO, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) return false;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = on_datagram;
  return sigaction(SIGIO, &action, nullptr) == 0 && fcntl(receiving, F_SETOWN, getpid()) == 0 &&
         fcntl(receiving, F_SETFL, O_NONBLOCK | O_ASYNC) == 0;
}

// --- Other ranks

std::array<sockaddr_in, 16> destinations{};
std::size_t destination_count = 0;

}  // namespace

std::string receive_abort_notices(bool (*take)(const char* reason) noexcept) {
  std::random_device random;
  for (std::uint32_t& word : launch_secret) word = random();
  main_thread = pthread_self();
  take_notice = take;
  const int port = open_receiver();
  if (port == 0 || !enable_signals()) return {};
  std::ostringstream where;
  where << host_name() << ' ' << port;
  for (const std::uint32_t word : launch_secret) where << ' ' << word;
  for (const std::string& address : host_addresses()) where << ' ' << address;
  return where.str();
}

void send_abort_notices_to(const std::string& where) {
  std::istringstream words(where);
  std::string host, address;
  int port = 0;
  words >> host >> port;
  for (std::uint32_t& word : launch_secret) words >> word;
  while (words >> address && destination_count < destinations.size()) {
    if (address.starts_with("127.") && host != host_name()) continue;
    sockaddr_in& to = destinations[destination_count];
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) == 1) ++destination_count;
  }
}

void send_abort_notice(const char* reason, double seconds) noexcept {
  constexpr int wait_ms = 50;
  if (destination_count == 0) return;
  const int sending = socket(AF_INET, SOCK_DGRAM, 0);
  if (sending < 0) return;
  Notice notice{.secret = launch_secret};
  std::memcpy(notice.reason.data(), reason, std::min(std::strlen(reason), notice.reason.size() - 1));
  for (int waited = 0; waited < static_cast<int>(seconds * 1000); waited += wait_ms) {
    for (std::size_t i = 0; i < destination_count; ++i) {
      sendto(sending, &notice, sizeof notice, 0, reinterpret_cast<const sockaddr*>(&destinations[i]),
             sizeof destinations[i]);
    }
    pollfd answer{.fd = sending, .events = POLLIN, .revents = 0};
    Secret secret{};
    if (poll(&answer, 1, wait_ms) == 1 &&
        recv(sending, &secret, sizeof secret, MSG_DONTWAIT) == sizeof secret && secret == launch_secret) {
      break;
    }
  }
  close(sending);
}

}  // namespace openimb::system
