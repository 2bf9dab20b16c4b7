// The temporary files of IMB-IO: which names belong to a run, and how they are deleted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openimb::system {

/// Existing files of the run with the path `base`: with the suffixes of groups and ranks, and the side files
/// of MPI libraries.
std::vector<std::string> scratch_files(const std::string& base);
/// How many there were.
std::size_t delete_scratch_files(const std::string& base);

}  // namespace openimb::system
