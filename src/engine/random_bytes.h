// Converts 64-bit numbers to bytes for contents. The result is the same on machines of either byte order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace openimb {

inline constexpr std::int64_t word_size = 8;

/// The bytes of a number, the least significant one first.
constexpr std::array<std::byte, word_size> bytes_of(std::uint64_t word) {
  std::array<std::byte, word_size> bytes{};
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(word & 0xFF);
    word >>= 8;
  }
  return bytes;
}

}  // namespace openimb
