#include "system/storage.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

#include "system/file_facts.h"

namespace openimb::system {

namespace fs = std::filesystem;

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs facts{};
  if (statvfs(folder.c_str(), &facts) != 0) return std::numeric_limits<std::int64_t>::max();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto blocks = static_cast<std::uint64_t>(facts.f_bavail),
             size = static_cast<std::uint64_t>(facts.f_frsize);
  if (size > 0 && blocks > static_cast<std::uint64_t>(most) / size) return most;
  return static_cast<std::int64_t>(blocks * size);
}

std::string file_system_type(const std::string& folder) {
  // Lines of mountinfo have the fields id parent device root mount-point options... - type source options.
  // The last line with the longest mount point above the folder applies.
  std::error_code unused;
  const std::string path = fs::canonical(folder, unused).string() + "/";
  std::ifstream mounts("/proc/self/mountinfo");
  std::string type;
  std::size_t longest = 0;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string field, point;
    for (int i = 0; i < 5; ++i) fields >> point;
    while (fields >> field && field != "-") continue;
    fields >> field;
    if (!point.ends_with('/')) point += '/';
    if (path.starts_with(point) && point.size() >= longest) {
      longest = point.size();
      type = field;
    }
  }
  return type;
}

std::string creation_error(const std::string& folder) {
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat facts{};
  if (stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileIdentity{static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

}  // namespace openimb::system
