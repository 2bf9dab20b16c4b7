#include "system/clock_identity.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace openimb::system {

std::string clock_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (boot.empty()) return {};
  std::array<char, 64> space{};  // empty before Linux 5.6
  const ssize_t length = readlink("/proc/self/ns/time", space.data(), space.size());
  return boot + " " + std::string(space.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
}

}  // namespace openimb::system
