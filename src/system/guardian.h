// A process that deletes the temporary files of a launch that ended without doing so.
#pragma once

#include <memory>
#include <string>

namespace openimb::system {

class Connection;

/// A text that is unique to the launch: host, process, time.
std::string launch_token();

/// The process waits for the end of its parent, whatever causes it. It holds the lock on the path of the
/// files (ScratchLock) until they are deleted, so that the next launch does not lose its files. Create it
/// before MPI_Init: memory that MPI registers with a network adapter must not be forked.
class Guardian {
 public:
  Guardian();
  /// Releases the path and ends the process; nothing is left to delete.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Reserves the files of `base` for the launch with this token, and deletes them when this process ends.
  /// Waits while the guardian of a launch that has ended deletes its files there. False where another launch
  /// uses the path. `only_unused`: false also where files exist, unless a killed launch left them.
  bool reserve(const std::string& base, const std::string& token, bool only_unused = false) const;
  void release() const;

 private:
  bool ask(const std::string& request) const;

  std::unique_ptr<Connection> process_;
};

/// On systems without fork, the guardian is this program started again: in that process this does the
/// guardian's work and ends the process. It returns in any other process. Call it first in main.
void be_guardian_if_asked(int argc, char** argv);

/// Deletes what launches in the folder of `base` left under "base.2", "base.3" and so on, where the launch
/// and its guardian were both killed.
void delete_abandoned(const std::string& base);

}  // namespace openimb::system
