// The guardian is a process that deletes the temporary files of a launch that ended without deleting them.
#pragma once

#include <memory>
#include <string>

namespace openimb::system {

class Connection;

/// Returns a name that no other launch has, made of host, process and time.
std::string unique_name();

/// Starts a process that waits for the end of its parent, whatever the cause. Create it before MPI_Init:
/// memory that MPI registers with a NIC must not be forked.
class Guardian {
 public:
  Guardian();
  /// Ends the process; it deletes nothing.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Makes the guardian delete the files of `base` (system/scratch_files.h) when this process ends.
  void watch(const std::string& base) const { send(base); }

 private:
  void send(const std::string& base) const;

  std::unique_ptr<Connection> process_;
};

/// On systems without fork, the guardian is this program started again. In that process, this function does
/// the guardian's work and ends the process; in any other it returns. Call it first in main.
void run_guardian_if_asked(int argc, char** argv);

}  // namespace openimb::system
