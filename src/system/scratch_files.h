// The temporary files of a launch of IMB-IO. Their names have a beginning that no other launch uses.
#pragma once

#include <cstddef>
#include <string>

namespace openimb::system {

/// Deletes the files whose names begin with `base`: the launch's own, with suffixes of groups and ranks, and
/// side files of MPI libraries, which may be hidden. Returns their number.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
