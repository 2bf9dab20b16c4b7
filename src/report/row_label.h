// The row that a message is about, in words.
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
  std::optional<std::int64_t> bytes = {};  ///< empty: no length
  std::string_view variant = {};           ///< empty: none
};

/// Writes "PingPong, 2 processes, 8 B, variant ring", or what fits of it, and a final zero. Returns its
/// length. Does not allocate, as memory may be what is missing.
std::size_t write_label(std::span<char> text, const RowLabel& label);

std::string text_of(const RowLabel& label);

}  // namespace openimb
