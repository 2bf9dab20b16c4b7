// Texts that ranks send each other: error messages, and lists of words join_words into one text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/values.h"
#include "session/process_group.h"

namespace openimb {

/// Ends each word of a join_words text. It occurs in no argument, no text file, and no name of a host, an
/// interface or a GPU.
inline constexpr char separator = '\0';

inline std::string join_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) (text += word) += separator;
  return text;
}

inline std::vector<std::string> split_words(std::string_view text) {
  const std::vector<std::string_view> words = split(text, separator);
  return {words.begin(), words.end() - 1};
}

/// Returns, on all ranks, the message of the first rank whose message is not empty, or an empty text.
/// Collective.
inline std::string first_message(ProcessGroup& world, std::string mine) {
  for (const std::string& message : world.gather(mine)) {
    if (mine.empty()) mine = message;
  }
  return world.broadcast(mine);
}

}  // namespace openimb
