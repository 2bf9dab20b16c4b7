// What a misspelled word was probably meant to be.
#pragma once

#include <span>
#include <string_view>

namespace openimb {

/// The candidate nearest to `word`, in any case, or an empty text where none is near. Among equals the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace openimb
