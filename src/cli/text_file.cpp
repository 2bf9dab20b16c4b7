#include "cli/text_file.h"

#include "cli/values.h"

namespace openimb {

std::vector<Entry> read_entries(const ReadFile& read_file, const std::string& path, std::string_view option,
                                std::string_view what) {
  const FileText file = read_file(path);
  if (!file.ok) throw UsageError("-" + std::string(option) + ": cannot read " + path + ": " + file.why);
  std::vector<Entry> entries;
  int number = 0;
  for (const std::string_view line : split(file.text, '\n')) {
    ++number;
    const std::string_view text = trimmed(line.substr(0, line.find('#')));
    if (!text.empty()) entries.push_back({std::string(text), path + ":" + std::to_string(number) + ": "});
  }
  if (entries.empty()) {
    throw UsageError("-" + std::string(option) + ": " + path + " holds no " + std::string(what) +
                     "; write one a line");
  }
  return entries;
}

}  // namespace openimb
