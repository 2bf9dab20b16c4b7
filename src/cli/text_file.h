// Files with one entry per line: benchmark names, message sizes, settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace openimb {

struct TextEntry {
  std::string text;   ///< without surrounding blanks and without comment
  std::string where;  ///< "FILE:LINE: "
};

/// Returns the entries of a file, without blank lines, a byte order mark and comments; a comment begins with
/// a # at the start of a word. `what` ("message sizes") names the entries in the error about a file without
/// entries. `option` is the option that named the file.
std::vector<TextEntry> read_entries(const ReadFile& read_file, const std::string& path,
                                    std::string_view option, std::string_view what);

}  // namespace openimb
