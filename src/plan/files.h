// The files of one table: their names, and which bytes each process moves. Source: guide, "File (IMB-IO)",
// "IMB-IO Blocking Benchmarks", "Memory and Disk Space Requirements".
#pragma once

#include <cstdint>
#include <string>

#include "model/grouping.h"
#include "model/spec.h"
#include "model/tile.h"

namespace openimb {

/// `base`: path of the file without suffix. `_g<group>` follows if there are several groups, and `_<rank in
/// the group>` if each process has a file of its own.
std::string file_name(const std::string& base, const Spec& spec, const Grouping& grouping, int group,
                      int rank);

/// Position of a file's first byte in the contents of all files together, so that no two files have the same
/// contents.
std::int64_t first_place_in_all_files(const Spec& spec, int rank);

/// An I/O portion of `bytes` is divided as evenly as possible: the first bytes % processes ranks have one
/// byte more. In a file of its own, a process's share is the portion.
Tile tile_of(const Spec& spec, std::int64_t bytes, int processes, int rank);

}  // namespace openimb
