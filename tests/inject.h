// What libraries that inject failures have in common. Each is interposed by LD_PRELOAD and told by variables
// what to do:
//   FAIL_RANK=r    the rank on which something fails; without it, every rank
//   FAIL_LOG=path  a file to which each injection adds a line "rank R at SECONDS: what failed", in the
//   seconds of
//                  CLOCK_MONOTONIC; a rank that only counts adds "rank R counted N" when it ends
#pragma once

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace inject {

inline int number_in(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

/// -1 in a process that no launcher started.
inline int rank() {
  static const int mine = number_in("OMPI_COMM_WORLD_RANK", number_in("PMI_RANK", -1));
  return mine;
}

inline bool here() {
  static const bool answer = rank() >= 0 && number_in("FAIL_RANK", rank()) == rank();
  return answer;
}

// One write, so that lines of several ranks do not mix; no allocation, since one may just have failed.
inline void log_line(const char* line, int length) {
  const char* const path = std::getenv("FAIL_LOG");
  if (path == nullptr) return;
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, line, static_cast<size_t>(length));
  close(file);
}

inline void announce(const char* what) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  char line[512];
  int length = std::snprintf(line, sizeof line, "rank %d at %ld.%03ld: %s\n", rank(),
                             static_cast<long>(now.tv_sec), now.tv_nsec / 1000000, what);
  if (length >= static_cast<int>(sizeof line)) line[length = static_cast<int>(sizeof line) - 1] = '\n';
  log_line(line, length);
}

inline void say_count(int count) {
  char line[64];
  log_line(line, std::snprintf(line, sizeof line, "rank %d counted %d\n", rank(), count));
}

}  // namespace inject
