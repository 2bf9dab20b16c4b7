// Extracts the reason from MPI's text about an error, without calling MPI.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace openimb {

/// Returns one line: the last entry of the error stack, where the error began, without its function. If that
/// entry is truncated or empty, returns the heading of the stack. `room`: MPI_MAX_ERROR_STRING, the longest
/// text with its final null.
std::string error_reason(std::string_view text, std::size_t room);

}  // namespace openimb
