// The reason in MPI's text about an error, on one line. Pure: needs no MPI.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace openimb {

/// The last entry of an error stack, where the error began, without its function; where that is truncated or
/// empty, the heading of the stack. `room`: MPI_MAX_ERROR_STRING, the characters of a text with the
/// terminating null.
std::string error_reason(std::string_view text, std::size_t room);

}  // namespace openimb
