#include "cli/file_names.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "cli/values.h"

namespace openimb {

namespace {

constexpr std::size_t longest_path = 1024;

}  // namespace

void check_files(const Options& options, const SameFile& same_file) {
  const auto same = [&](const std::string& a, const std::string& b) {
    const auto normal = [](const std::string& name) {
      return std::filesystem::path(name).lexically_normal();
    };
    if (a.empty() || b.empty()) return false;
    return same_file ? same_file(a, b) : normal(a) == normal(b);
  };
  if (same(options.json_file, options.dump_file)) {
    throw UsageError("-json and -dumpfile name the same file, " + shown(options.json_file, longest_path) +
                     "; give them one each");
  }
  const auto keep = [&](const std::string& option, const std::string& name) {
    const auto input =
        std::ranges::find_if(options.input_files, [&](const std::string& read) { return same(name, read); });
    if (input == options.input_files.end()) return;
    throw UsageError(option + " would overwrite " + shown(*input, longest_path) +
                     ", which this command line reads; name another file");
  };
  keep("-json", options.json_file);
  keep("-dumpfile", options.dump_file);
}

}  // namespace openimb
