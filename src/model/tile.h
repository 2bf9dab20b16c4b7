// The part of a file that one process moves.
#pragma once

#include <cstdint>

namespace openimb {

/// The part of an I/O portion that one process of a group moves, and its place in the file. Repetition i
/// begins i * portion further on.
struct Tile {
  std::int64_t portion = 0;  ///< bytes of the file that one repetition moves, of all processes together
  std::int64_t first = 0;    ///< offset in them of this process's first byte
  std::int64_t share = 0;    ///< bytes of this process

  std::int64_t offset(std::int64_t repetition) const { return repetition * portion + first; }
};

}  // namespace openimb
