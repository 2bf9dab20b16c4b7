// A process that deletes the temporary files of a launch that ended without doing so.
#pragma once

#include <memory>
#include <string>

namespace openimb::system {

class Connection;

/// A name that no other launch has: host, process, time.
std::string unique_name();

/// The process waits for the end of its parent, whatever causes it. Create it before MPI_Init: memory that
/// MPI registers with a network adapter must not be forked.
class Guardian {
 public:
  Guardian();
  /// Ends the process; nothing is left to delete.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// When this process ends, the files of `base` (system/scratch_files.h) are deleted.
  void watch(const std::string& base) const { tell(base); }

 private:
  void tell(const std::string& base) const;

  std::unique_ptr<Connection> process_;
};

/// On systems without fork, the guardian is this program started again: in that process this does the
/// guardian's work and ends the process. It returns in any other process. Call it first in main.
void be_guardian_if_asked(int argc, char** argv);

}  // namespace openimb::system
