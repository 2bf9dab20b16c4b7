// The temporary files of a launch of IMB-IO. Their names begin with a text that no other launch uses.
#pragma once

#include <cstddef>
#include <string>

namespace openimb::system {

/// Deletes the files whose names begin with `base`. These are the launch's own files, with suffixes for
/// groups and ranks, and additional files of MPI libraries, which may be hidden. Returns the number of files.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
