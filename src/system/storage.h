// File systems: free space, type, write permission, identity of files.
#pragma once

#include <cstdint>
#include <string>

namespace openimb::system {

/// The folder of this path.
std::string folder_of(const std::string& path);
/// Bytes that an unprivileged process can still write to the file system of `folder`; the largest number
/// where the system does not report them.
std::int64_t free_bytes(const std::string& folder);
/// "ext4", "lustre"; empty where the system does not report it.
std::string file_system_type(const std::string& folder);
/// Why this process cannot create files in `folder`; empty where it can.
std::string write_error(const std::string& folder);
/// Whether both paths lead to one file, through links of either kind; also where it does not exist yet.
bool same_file(const std::string& a, const std::string& b);

}  // namespace openimb::system
