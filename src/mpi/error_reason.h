// What of MPI's text about an error is the reason, for one line. Pure: needs no MPI.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace openimb {

/// Of an error stack the last entry, where the error began, without its function; where that is cut off or
/// empty, the heading of the stack. `room`: characters that a text can have, MPI_MAX_ERROR_STRING with the
/// terminating null.
std::string error_reason(std::string_view text, std::size_t room);

}  // namespace openimb
