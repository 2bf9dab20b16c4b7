// Exclusive use of a path for temporary files, so that one IMB-IO never deletes the files of another.
#pragma once

#include <string>
#include <string_view>

namespace openimb::system {

/// The lock file of `base`: hidden, beside the files, its name with this suffix.
inline constexpr std::string_view lock_suffix = ".imb-lock";
std::string lock_file_of(const std::string& base);

/// A lock on the path `base` for as long as the object lives. It is a locked file, which the system
/// releases however the holder ends. The file holds the launch's token: the guardians of one launch on
/// several hosts share a path if they share the file system.
class ScratchLock {
 public:
  enum class State {
    held,      ///< by this object
    shared,    ///< by another process of the same launch
    busy,      ///< by another launch
    cleaning,  ///< by the guardian of a launch that ended and whose files it deletes
    none,      ///< the file system has no locks, or no file can be created; no launch is excluded
  };
  ScratchLock(std::string base, std::string token);
  /// Deletes the lock file if this object holds the lock.
  ~ScratchLock();
  ScratchLock(const ScratchLock&) = delete;
  ScratchLock& operator=(const ScratchLock&) = delete;

  /// Takes the lock if it is free; does not wait.
  State take();
  /// Whether a lock file was there that no process held: its launch was killed together with its guardian.
  bool was_abandoned() const { return abandoned_; }
  /// Makes other launches wait: this launch has ended and its files are being deleted.
  void mark_cleaning() const;

 private:
  State state_of_holder() const;

  std::string base_, token_;
  int file_ = -1;
  bool abandoned_ = false;
};

}  // namespace openimb::system
