// Suggestions for misspelled words.
#pragma once

#include <span>
#include <string_view>

namespace openimb {

/// The candidate nearest to `word`, in any case, or an empty string if none is near. If several are equally
/// near, the first one.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace openimb
