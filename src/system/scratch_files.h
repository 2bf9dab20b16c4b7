// The temporary files of IMB-IO: which names belong to a run, and how they are deleted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openimb::system {

/// Existing files of the run with the path `base`: with the suffixes of groups and ranks, and the side files
/// of MPI libraries.
std::vector<std::string> scratch_files(const std::string& base);
/// Whether one of the names through which a path leads to a file is that of such a file or of the lock
/// (scratch_lock.h), whether it exists or not. `numbered`: or of "base.2", "base.3" and so on, which a launch
/// takes where another one uses `base`.
bool is_scratch_file(const std::string& base, const std::string& path, bool numbered);
/// How many there were.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
