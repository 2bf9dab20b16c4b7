#include "system/scratch_files.h"

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

namespace openimb::system {

std::size_t delete_scratch_files(const std::string& base) {
  const std::filesystem::path path(base);
  const std::string stem = path.filename().string();
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(stem) || name.starts_with("." + stem)) files.push_back(entry->path().string());
  }
  for (const std::string& file : files) std::remove(file.c_str());
  return files.size();
}

}  // namespace openimb::system
