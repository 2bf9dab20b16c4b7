#include "mpi/error_reason.h"

#include <algorithm>

namespace openimb {

namespace {

std::string_view strip_trailing_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Entries of MPICH begin with a function and a line: "ADIOI_GEN_WRITECONTIG(80)....: ".
std::string_view strip_function(std::string_view entry) {
  const std::size_t colon = entry.find(':');
  const bool names_function =
      colon != std::string_view::npos && entry.substr(0, colon).find_last_of(").") + 1 == colon;
  if (!names_function) return entry;
  entry.remove_prefix(colon + 1);
  return entry.substr(std::min(entry.find_first_not_of(' '), entry.size()));
}

}  // namespace

std::string error_reason(std::string_view text, std::size_t room) {
  const bool truncated = text.size() + 3 >= room;  // MPICH 5 leaves two characters unused
  text = strip_trailing_blanks(text);
  const std::size_t last = text.rfind('\n');
  if (last != std::string_view::npos && !truncated) {
    const std::string_view entry = strip_function(text.substr(last + 1));
    if (!entry.empty()) return std::string(entry);
  }
  constexpr std::string_view before_stack = ", error stack:";
  text = text.substr(0, text.find('\n'));
  if (text.ends_with(before_stack)) text.remove_suffix(before_stack.size());
  text = strip_function(text);
  return text.empty() ? "error without text" : std::string(text);
}

}  // namespace openimb
