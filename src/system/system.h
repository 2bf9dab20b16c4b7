// Everything that is asked of the operating system and not of MPI or the C++ library. A port touches system.cpp only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace openimb::system {

struct Machine {
  std::string machine, system, release, kernel;  ///< uname's machine, sysname, release, version
};
Machine machine();
std::string host_name();
/// CPUs this process may run on, as Linux writes lists ("0-3,8"); empty where the system does not say.
std::string allowed_cpus();

/// Last-level cache in bytes and its line; zero where unknown.
struct Cache {
  std::int64_t size = 0;
  int line = 0;
};
Cache last_level_cache();

/// Variables that steer MPI libraries and their transports, sorted by name.
std::vector<std::pair<std::string, std::string>> mpi_environment();

void pause_for(double seconds);

/// From now on SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask for a stop instead of ending the process. When the stop
/// does not come about within `grace_seconds` (a rank waits in MPI for one that is gone), or a second signal arrives,
/// the text given to set_last_words() is written to its file descriptor and the process ends with 128 + signal.
void catch_stop_signals(double grace_seconds);
/// "SIGTERM" once one arrived, else empty.
std::string stop_signal();
/// What the handler leaves behind; descriptor -1: nothing. Safe against the handler running meanwhile.
void set_last_words(int descriptor, const std::string& text);

}  // namespace openimb::system
