// Saturating arithmetic for sizes that come from the command line: lengths, memory, files. A result that does
// not fit becomes the largest number, so that an absurd length gets a failure row instead of overflowing to a
// small length.
#pragma once

#include <cstdint>
#include <limits>

namespace openimb {

/// Larger than every limit that -mem accepts.
inline constexpr std::int64_t max_size = std::numeric_limits<std::int64_t>::max();

/// Sum, product and multiple of nonnegative numbers.
constexpr std::int64_t plus(std::int64_t a, std::int64_t b) { return a > max_size - b ? max_size : a + b; }
constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > max_size / b ? max_size : a * b;
}
constexpr std::int64_t rounded_up(std::int64_t size, std::int64_t unit) {
  return times(size / unit + (size % unit != 0 ? 1 : 0), unit);
}
template <class... More>
constexpr std::int64_t plus(std::int64_t a, std::int64_t b, More... more) {
  return plus(plus(a, b), more...);
}
template <class... More>
constexpr std::int64_t times(std::int64_t a, std::int64_t b, More... more) {
  return times(times(a, b), more...);
}

}  // namespace openimb
