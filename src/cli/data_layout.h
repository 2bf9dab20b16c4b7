// -layout and -packing: from words to where the elements of a message lie, and who gathers them.
#pragma once

#include <string_view>

#include "cli/draft.h"

namespace openimb {

/// -layout. Throws BadValue.
void set_layout(Draft& draft, std::string_view word);

/// -packing. Throws BadValue.
void set_packing(Draft& draft, std::string_view word);

/// Throws UsageError where -layout, -packing and other options exclude each other.
void check_layout(const Options& options);

}  // namespace openimb
