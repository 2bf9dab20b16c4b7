// Names the row that a message is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace openimb {

struct RowLabel {
  std::string_view benchmark;
  int processes = 0;                       ///< of one group
  std::optional<std::int64_t> bytes = {};  ///< empty without a length
  std::string_view variant = {};           ///< empty without variants
};

/// Writes "PingPong, 2 processes, 8 B, variant ring" and a final zero, or as much as fits into `text`.
/// Returns the length without the zero. Does not allocate, because it also runs when memory is exhausted.
std::size_t write_label(std::span<char> text, const RowLabel& label);

std::string text_of(const RowLabel& label);

}  // namespace openimb
