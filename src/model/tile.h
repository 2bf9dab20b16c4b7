// The part of a file that one process moves.
#pragma once

#include <cstdint>

namespace openimb {

/// The part of an I/O portion that one process of a group moves, and its position in the file. The portion of
/// repetition i begins at i * portion.
struct Tile {
  std::int64_t portion = 0;  ///< bytes that all processes move in one repetition
  std::int64_t first = 0;    ///< offset of this process's first byte within the portion
  std::int64_t share = 0;    ///< bytes that this process moves

  std::int64_t offset(std::int64_t repetition) const { return repetition * portion + first; }
};

}  // namespace openimb
