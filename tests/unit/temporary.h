// A temporary folder for a test, files in it, and child processes.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace openimb::testing {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "openimb-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = std::filesystem::canonical(name);
  }
  ~Folder() {
    std::error_code unused;
    std::filesystem::remove_all(path_, unused);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Creates a file and returns its path.
  std::string file(const std::string& name, const std::string& text = "") const {
    std::ofstream(path_ / name) << text;
    return *this / name;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }

 private:
  std::filesystem::path path_;
};

inline std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether `condition` becomes true in time.
template <class Condition>
bool becomes_true(Condition condition, double seconds = 10) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Starts a child process that runs `body` and exits with its result. `body` must not use Catch.
template <class Body>
pid_t start_child(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (const int signal : {SIGABRT, SIGSEGV, SIGTERM, SIGINT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  _exit(body());
}

/// Waits for a child and returns its exit status, or 1000 + the signal that killed it.
inline int wait_for_child(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace openimb::testing
