// Inside this module: files that at most one process has open for writing.
#pragma once

#include <string>

namespace openimb::system {

struct LockedFile {
  int file = -1;  ///< a descriptor; -1 where another process holds the lock, or where there are no locks
  bool is_busy = false;   ///< another process holds the lock
  bool had_text = false;  ///< the last holder ended without deleting the file
};
/// Creates the file if need be; does not wait, and follows no link.
LockedFile open_and_lock(const std::string& path);
/// The text of a lock file, whichever process holds it; empty where it cannot be read.
std::string text_of_lock_file(const std::string& path);
void replace_text(int file, const std::string& text);
/// Deletes the file, then releases the lock.
void delete_locked_file(int file, const std::string& path);

}  // namespace openimb::system
