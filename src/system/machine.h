// What the operating system reports about this host: name, release, CPUs, caches.
#pragma once

#include <cstdint>
#include <string>

namespace openimb::system {

struct Machine {
  std::string machine, system, release, kernel;  ///< uname's machine, sysname, release, version
};
Machine machine();
std::string host_name();
/// Returns the id of this process on this host.
std::int64_t process_number();

/// Sizes of the last-level cache and of its lines, in bytes; 0 if unknown.
struct Cache {
  std::int64_t size = 0;
  int line = 0;
};
Cache last_level_cache();

}  // namespace openimb::system
