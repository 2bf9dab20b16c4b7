// Inside this module: what the system reports about a file or a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace openimb::system {

/// Returns why this process cannot create files in a folder that exists; empty if it can.
std::string creation_error(const std::string& folder);

struct FileIdentity {
  std::uint64_t device = 0, file = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Returns the identity of the file that a path leads to, or nothing if there is no file.
std::optional<FileIdentity> identity_of(const std::string& path);

}  // namespace openimb::system
