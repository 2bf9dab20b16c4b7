#include "system/scratch_files.h"

#include <regex.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace openimb::system {

namespace {

// POSIX's, because <regex> takes as long to compile as the rest of this module.
class Expression {
 public:
  explicit Expression(const char* text) { regcomp(&compiled_, text, REG_EXTENDED | REG_NOSUB); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() { regfree(&compiled_); }
  bool matches(const std::string& text) const {
    return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
};

}  // namespace

std::vector<std::string> scratch_files(const std::string& base) {
  // Suffixes of ROMIO's and OMPIO's files for shared pointers, and of the file with which OMPIO tries a lock.
  static const Expression suffix(
      R"(^(_g[0-9]+)?(_[0-9]+)?(\.shfp\.[0-9.]+|-[0-9]+\.lock|_cid-[0-9]+-[0-9]+\.sm|\.(data|metadata|locktest)\.[0-9]+)?$)");
  const std::filesystem::path path(base);
  const std::string stem = path.filename().string();
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) name.erase(0, 1);
    if (!name.starts_with(stem) || !suffix.matches(name.substr(stem.size()))) continue;
    // A link is deleted too: writing through it would reach its target.
    if (!std::filesystem::is_directory(entry->symlink_status(error))) found.push_back(entry->path().string());
  }
  std::ranges::sort(found);
  return found;
}

void delete_scratch_files(const std::string& base) {
  for (const std::string& file : scratch_files(base)) std::remove(file.c_str());
}

}  // namespace openimb::system
