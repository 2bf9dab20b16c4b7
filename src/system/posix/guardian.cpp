#include "system/guardian_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <vector>

#include "system/posix/socket_connection.h"

namespace openimb::system {

namespace {

// Leaves the launcher's process group and terminal, and closes every descriptor that another process may wait
// for.
void detach(int keep) {
  setsid();
  std::set_terminate([] { _exit(1); });  // the launch then continues without a guardian
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

class Child final : public SocketConnection {
 public:
  Child(int socket, pid_t process) : SocketConnection(socket), process_(process) {}
  ~Child() override {
    close();
    waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
};

}  // namespace

std::unique_ptr<Connection> start_guardian(void (*guard)(Connection&)) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return nullptr;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  const pid_t process = fork();
  if (process == 0) {
    detach(ends[1]);
    SocketConnection launch(ends[1]);
    guard(launch);
    _exit(0);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return nullptr;
  }
  return std::make_unique<Child>(ends[0], process);
}

std::unique_ptr<Connection> connection_to_launch(int, char**) { return nullptr; }

}  // namespace openimb::system
