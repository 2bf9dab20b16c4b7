// Inside this module: starts the guardian's process.
#pragma once

#include <memory>

#include "system/connection.h"

namespace openimb::system {

/// Starts a process outside of this one's terminal and process group. Returns the connection to it, whose
/// destructor waits for the end of that process; null on failure. In the new process `guard` gets the other
/// end. The new process is a fork of this one or, on systems without fork, this program started again
/// (run_guardian_if_asked()).
std::unique_ptr<Connection> start_guardian(void (*guard)(Connection&));
/// Returns the other end of the connection in a program started again as a guardian; else null.
std::unique_ptr<Connection> connection_to_launch(int argc, char** argv);

}  // namespace openimb::system
