// Inside this module: the environment variables of this process.
#pragma once

namespace openimb::system {

/// Texts "NAME=value", and a null pointer at the end. May be null.
char** environment_block();

}  // namespace openimb::system
