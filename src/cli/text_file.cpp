#include "cli/text_file.h"

#include "cli/values.h"

namespace openimb {

std::vector<TextEntry> read_entries(const ReadFile& read_file, const std::string& path,
                                    std::string_view option, std::string_view what) {
  constexpr std::size_t longest_path = 1024;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // editors on Windows write it
  const std::string name = shown(path, longest_path);
  const FileText file = read_file(path);
  if (!file.ok) throw UsageError("-" + std::string(option) + ": cannot read " + name + ": " + file.why);
  std::string_view lines = file.text;
  if (lines.starts_with(byte_order_mark)) lines.remove_prefix(byte_order_mark.size());
  std::vector<TextEntry> entries;
  int number = 0;
  for (const std::string_view line : split(lines, '\n')) {
    ++number;
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    if (!text.empty()) entries.push_back({std::string(text), name + ":" + std::to_string(number) + ": "});
  }
  if (entries.empty()) {
    throw UsageError("-" + std::string(option) + ": " + name + " holds no " + std::string(what) +
                     "; write one per line");
  }
  return entries;
}

}  // namespace openimb
