// Inside this module: how the guardian's process starts.
#pragma once

#include <memory>

#include "system/connection.h"

namespace openimb::system {

/// Starts a process, apart from this one's terminal and process group, and returns the connection to it,
/// which waits for its end when it is destroyed. Null where that fails. In that process `guard` gets the
/// other end: in a fork of this process or, on systems without fork, in this program started again, by
/// be_guardian_if_asked().
std::unique_ptr<Connection> start_guardian(void (*guard)(Connection&));
/// In a program that was started again as a guardian, the other end of the connection; else null.
std::unique_ptr<Connection> launch_of_guardian(int argc, char** argv);

}  // namespace openimb::system
