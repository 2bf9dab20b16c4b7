// Texts that ranks send to rank 0: what is between their words.
#pragma once

namespace openimb {

/// In no argument, no text file, and no name of a host, an interface or a GPU.
inline constexpr char separator = '\0';

}  // namespace openimb
