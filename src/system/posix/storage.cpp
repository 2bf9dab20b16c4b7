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

namespace openimb::system {

namespace fs = std::filesystem;

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::int64_t free_bytes(const std::string& folder) {
  struct statvfs facts{};
  if (statvfs(folder.c_str(), &facts) != 0) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(facts.f_bavail) * static_cast<std::int64_t>(facts.f_frsize);
}

std::string file_system_type(const std::string& folder) {
  // Lines of mountinfo: id parent device root mount-point options... - type source options. The last line of
  // the longest mount point above the folder is the one in force.
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

std::string why_not_writable(const std::string& folder) {
  std::error_code unused;
  if (!fs::exists(folder, unused)) return "no such folder";
  if (!fs::is_directory(folder, unused)) return "not a folder";
  return access(folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

namespace {

// Where a file would be created that is opened by this name: dangling links are followed by hand, because
// canonical() requires that the file exists.
fs::path target_of(fs::path path) {
  constexpr int most_links = 40;  // as the kernel counts them
  std::error_code error;
  path = fs::absolute(path, error);
  for (int i = 0; i < most_links && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  const fs::path folder = fs::canonical(path.parent_path(), error);
  return error ? path.lexically_normal() : folder / path.filename();
}

}  // namespace

bool same_file(const std::string& a, const std::string& b) {
  struct stat first{}, second{};
  const bool a_exists = stat(a.c_str(), &first) == 0, b_exists = stat(b.c_str(), &second) == 0;
  if (a_exists != b_exists) return false;
  if (a_exists) return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  return target_of(a) == target_of(b);
}

}  // namespace openimb::system
