#include "system/scratch_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "system/scratch_lock.h"
#include "system/storage.h"

namespace openimb::system {

namespace {

constexpr std::string_view digits = "0123456789";

/// Removes `before`, and at least one of `characters` after it, from the start of `text`, if they are there.
bool take(std::string_view& text, std::string_view before, std::string_view characters = digits) {
  if (!text.starts_with(before)) return false;
  const std::string_view rest = text.substr(before.size());
  const std::size_t count = std::min(rest.find_first_not_of(characters), rest.size());
  if (count == 0) return false;
  text = rest.substr(count);
  return true;
}

/// Whether a name continues with group and rank, and then with the suffix of a file of ROMIO or OMPIO: for
/// shared pointers, or for OMPIO's test of locks. Parsed by hand, because <regex> takes as long to compile as
/// the rest of this module.
bool is_own_suffix(std::string_view text) {
  take(text, "_g");
  take(text, "_");
  if (text.empty()) return true;
  if (take(text, ".shfp.", "0123456789.") || take(text, ".data.") || take(text, ".metadata.") ||
      take(text, ".locktest.")) {
    return text.empty();
  }
  if (take(text, "_cid-")) return take(text, "-") && text == ".sm";
  return take(text, "-") && text == ".lock";
}

/// Removes the stem that all file names of a launch share: "IMB_out", also in a hidden file; `numbered`: also
/// "IMB_out.2".
bool take_stem(std::string_view& name, std::string_view stem, bool numbered) {
  if (!name.starts_with(stem)) {
    if (!name.starts_with('.') || !name.substr(1).starts_with(stem)) return false;
    name.remove_prefix(1);
  }
  name.remove_prefix(stem.size());
  if (numbered) take(name, ".");
  return true;
}

}  // namespace

std::vector<std::string> scratch_files(const std::string& base) {
  const std::filesystem::path path(base);
  const std::string stem = path.filename().string();
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view rest = name;
    if (!take_stem(rest, stem, false) || !is_own_suffix(rest)) continue;
    // A link is deleted too: writing through it would reach its target.
    if (!std::filesystem::is_directory(entry->symlink_status(error))) files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

bool is_scratch_file(const std::string& base, const std::string& path, bool numbered) {
  const std::filesystem::path base_path(base);
  const std::string stem = base_path.filename().string();
  return std::ranges::any_of(names_along(path), [&](const std::string& along) {
    const std::filesystem::path other(along);
    const std::string name = other.filename().string();
    std::string_view rest = name;
    return take_stem(rest, stem, numbered) && (is_own_suffix(rest) || rest == lock_suffix) &&
           same_file(base_path.parent_path().string(), other.parent_path().string());
  });
}

std::size_t delete_scratch_files(const std::string& base) {
  const std::vector<std::string> files = scratch_files(base);
  for (const std::string& file : files) std::remove(file.c_str());
  return files.size();
}

}  // namespace openimb::system
