// The temporary files of IMB-IO: which names belong to a run, and how they are deleted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openimb::system {

/// Existing files of the run with the path `base`: with the suffixes of groups and ranks, and the side files
/// of MPI libraries.
std::vector<std::string> scratch_files(const std::string& base);
/// Whether a path leads to such a file or to the lock file (scratch_lock.h), directly or through links,
/// whether the file exists or not. `numbered`: also those of "base.2", "base.3" and so on, which a launch
/// uses where another one has `base`.
bool is_scratch_file(const std::string& base, const std::string& path, bool numbered);
/// Deletes them and returns their number.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
