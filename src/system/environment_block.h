// Inside this module: the variables of this process.
#pragma once

namespace openimb::system {

/// "NAME=value" texts; a null pointer is the end. May be null.
char** environment_block();

}  // namespace openimb::system
