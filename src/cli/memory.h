// What -memory and its companions exclude, and what they leave open.
#pragma once

#include <span>
#include <string_view>

#include "cli/draft.h"

namespace openimb {

/// Whether a word names a kind of memory, as a second word of -memory does.
bool is_memory_kind(std::string_view word);

/// `given`: names of all options on the command line. Throws UsageError.
void check_memory(const Draft& draft, std::span<const std::string_view> given);

}  // namespace openimb
