#include "cli/text_file.h"

#include "cli/values.h"

namespace openimb {

namespace {

// A # within a word belongs to it.
std::string_view strip_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

}  // namespace

std::vector<TextEntry> read_entries(const ReadFile& read_file, const std::string& path,
                                    std::string_view option, std::string_view what) {
  constexpr std::size_t max_path = 1024;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // editors on Windows write it
  const std::string name = sanitized(path, max_path);
  const FileText file = read_file(path);
  if (!file.ok) throw UsageError("-" + std::string(option) + ": cannot read " + name + ": " + file.why);
  std::string_view lines = file.text;
  if (lines.starts_with(byte_order_mark)) lines.remove_prefix(byte_order_mark.size());
  std::vector<TextEntry> entries;
  int number = 0;
  for (const std::string_view line : split(lines, '\n')) {
    ++number;
    const std::string_view text = trimmed(strip_comment(line));
    if (!text.empty()) entries.push_back({std::string(text), name + ":" + std::to_string(number) + ": "});
  }
  if (entries.empty()) {
    throw UsageError("-" + std::string(option) + ": " + name + " holds no " + std::string(what) +
                     "; write one per line");
  }
  return entries;
}

}  // namespace openimb
