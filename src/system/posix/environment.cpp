#include "system/environment_block.h"

// POSIX leaves this declaration to the program; glibc also has one.
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace openimb::system {

char** environment_block() { return environ; }

}  // namespace openimb::system
