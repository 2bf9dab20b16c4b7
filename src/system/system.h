// What is asked of the operating system and not of MPI or the C++ library. A port touches this folder only.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
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

/// What an unprivileged process can still write to the file system that holds `folder`; very much where the
/// system does not say.
std::int64_t free_bytes(const std::string& folder);
/// "ext4", "lustre"; empty where the system does not say.
std::string file_system_type(const std::string& folder);
/// Why this process cannot make files in `folder`; empty where it can.
std::string why_not_writable(const std::string& folder);

/// The files of IMB-IO that `base` is the path of: with the suffixes of groups and ranks, and what MPI
/// libraries put beside them.
std::vector<std::string> scratch_files(const std::string& base);
void delete_scratch_files(const std::string& base);

/// A process of its own that deletes files when this one ended without doing so, whatever ended it. To be
/// made before MPI starts: what MPI registers with a network card must not be there twice.
class Guardian {
 public:
  Guardian();
  /// Dismisses it: there is nothing left to delete.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  /// From now on it is scratch_files(base) that it deletes.
  void watch(const std::string& base) const;

 private:
  int pipe_ = -1;
  int process_ = -1;
};

/// From now on SIGINT, SIGTERM, SIGUSR1 and SIGUSR2 ask for a stop instead of ending the process. When the
/// stop does not come about within `grace_seconds` (a long point, or a rank that waits for one that is gone;
/// 0: no limit), or a second signal arrives, the handler writes what set_last_words() prepared and ends the
/// process with 128 + signal.
void catch_stop_signals(double grace_seconds);
/// "SIGTERM" once one arrived, else empty.
std::string stop_signal();
/// Prepares `words(signal's name)`, at most 512 bytes each, for every stop signal, to be written to `file`;
/// null: nothing will be. Safe against the handler running meanwhile.
void set_last_words(std::FILE* file, const std::function<std::string(const char* signal)>& words);

}  // namespace openimb::system
