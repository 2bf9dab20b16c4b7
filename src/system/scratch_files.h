// The temporary files of a launch of IMB-IO: their names begin with one that no other launch has.
#pragma once

#include <cstddef>
#include <string>

namespace openimb::system {

/// Deletes the files of the launch whose path is `base`, with the suffixes of groups and ranks, and the side
/// files of MPI libraries, which may be hidden. Returns their number.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
