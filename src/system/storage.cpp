#include "system/storage.h"

#include <filesystem>
#include <system_error>

#include "system/file_facts.h"

namespace openimb::system {

namespace fs = std::filesystem;

namespace {

// Returns the path at which opening `path` would create a file: absolute, with the real names of folders.
// Follows links to files that do not exist yet, which canonical() refuses.
std::string target_of(const std::string& path) {
  constexpr int max_links = 40;  // the kernel's limit
  std::error_code error;
  fs::path name = fs::absolute(path, error);
  for (int i = 0; i <= max_links; ++i) {
    const fs::path folder = fs::canonical(name.parent_path(), error);
    name = error ? name.lexically_normal() : folder / name.filename();
    if (!fs::is_symlink(fs::symlink_status(name, error))) break;
    name = name.parent_path() / fs::read_symlink(name, error);
  }
  return name.string();
}

}  // namespace

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::string write_error(const std::string& folder) {
  std::error_code unused;
  if (!fs::exists(folder, unused)) return "no such folder";
  if (!fs::is_directory(folder, unused)) return "not a folder";
  return creation_error(folder);
}

bool same_file(const std::string& a, const std::string& b) {
  const std::optional<FileIdentity> first = identity_of(a), second = identity_of(b);
  if (first.has_value() != second.has_value()) return false;
  return first ? *first == *second : target_of(a) == target_of(b);
}

}  // namespace openimb::system
