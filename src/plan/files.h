// The files of one table: what they are called, and which bytes are whose. Source: guide, "File (IMB-IO)",
// "IMB-IO Blocking Benchmarks", "Memory and Disk Space Requirements".
#pragma once

#include <cstdint>
#include <string>

#include "plan/layout.h"
#include "plan/spec.h"

namespace openimb {

/// `base`: path of the file without suffix. Groups that run at the same time have `_g<group>` behind it,
/// processes with files of their own `_<rank in the group>` too.
std::string file_name(const std::string& base, const Spec& spec, const Layout& layout, int group, int rank);

/// Where in its file one process of a group moves its share of an I/O portion. Repetition i begins
/// i * portion further on.
struct Tile {
  std::int64_t portion = 0;  ///< bytes of the file that one repetition moves, of all processes together
  std::int64_t first = 0;    ///< of these, where this process's begin
  std::int64_t share = 0;    ///< and how many there are

  std::int64_t offset(std::int64_t repetition) const { return repetition * portion + first; }
};

/// Where a file's contents begin in those of all files together: no two hold the same.
std::int64_t first_place_in_all_files(const Spec& spec, int rank);

/// An I/O portion of `bytes` is divided as evenly as possible: the first bytes % processes ranks have one
/// byte more. In a file of its own, a process's share is the portion.
Tile tile_of(const Spec& spec, std::int64_t bytes, int processes, int rank);

}  // namespace openimb
