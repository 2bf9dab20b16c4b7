// Finds out about file systems: free space, type, write permission, and whether two paths name one file.
#pragma once

#include <cstdint>
#include <string>

namespace openimb::system {

/// Returns the folder part of a path.
std::string folder_of(const std::string& path);
/// Returns how many bytes an unprivileged process can still write to the file system of `folder`; the largest
/// number if unknown.
std::int64_t free_bytes(const std::string& folder);
/// Returns the type of a file system: "ext4", "lustre"; empty if unknown.
std::string file_system_type(const std::string& folder);
/// Returns why this process cannot create files in `folder`; empty if it can.
std::string write_error(const std::string& folder);
/// Whether both paths lead to the same file, through symbolic or hard links. Works for files that do not
/// exist yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace openimb::system
