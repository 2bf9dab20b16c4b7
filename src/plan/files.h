// The files of one table: their names, and which bytes each process moves. Source: guide, "File (IMB-IO)",
// "IMB-IO Blocking Benchmarks", "Memory and Disk Space Requirements".
#pragma once

#include <cstdint>
#include <string>

#include "plan/layout.h"
#include "plan/spec.h"

namespace openimb {

/// `base`: path of the file without suffix. With several groups `_g<group>` follows; where each process has a
/// file of its own, `_<rank in the group>` follows, too.
std::string file_name(const std::string& base, const Spec& spec, const Layout& layout, int group, int rank);

/// The part of an I/O portion that one process of a group moves, and its place in the file. Repetition i
/// begins i * portion further on.
struct Tile {
  std::int64_t portion = 0;  ///< bytes of the file that one repetition moves, of all processes together
  std::int64_t first = 0;    ///< offset in them of this process's first byte
  std::int64_t share = 0;    ///< bytes of this process

  std::int64_t offset(std::int64_t repetition) const { return repetition * portion + first; }
};

/// Position of a file's first byte in the contents of all files together, so that no two files have the same
/// contents.
std::int64_t first_place_in_all_files(const Spec& spec, int rank);

/// An I/O portion of `bytes` is divided as evenly as possible: the first bytes % processes ranks have one
/// byte more. In a file of its own, a process's share is the portion.
Tile tile_of(const Spec& spec, std::int64_t bytes, int processes, int rank);

}  // namespace openimb
