// Names of the files of one table, and the bytes that each process moves in them. Source: guide, "File
// (IMB-IO)", "IMB-IO Blocking Benchmarks", "Memory and Disk Space Requirements".
#pragma once

#include <cstdint>
#include <string>

#include "model/grouping.h"
#include "model/spec.h"
#include "model/tile.h"

namespace openimb {

/// Returns the name of a process's file. `base`: the path without suffixes. `_g<group>` follows if there are
/// several groups, and `_<rank in the group>` if each process has its own file.
std::string file_name(const std::string& base, const Spec& spec, const Grouping& grouping, int group,
                      int rank);

/// All files take their contents from one sequence. Returns the place in it at which a process's file begins.
/// It differs between files, so that no two files have the same contents.
std::int64_t first_content_position(const Spec& spec, int rank);

/// Returns the part of an I/O portion of `bytes` bytes that `rank` moves. The portion is divided as evenly as
/// possible: the first bytes % processes ranks have one byte more. If each process has its own file, the
/// portion of that file is the process's share.
Tile tile_of(const Spec& spec, std::int64_t bytes, int processes, int rank);

}  // namespace openimb
