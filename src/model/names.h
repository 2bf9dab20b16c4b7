// The names of an enumeration's values, each written once: on the command line, in text and in records.
#pragma once

#include <array>
#include <cstddef>

namespace openimb {

template <std::size_t count>
using Names = std::array<const char*, count>;

/// In the order of the enumerators. An enumeration has names if it specializes this variable. The type has no
/// deduced arguments: GCC for Windows would define it in a section of its own in some units.
template <class Enum>
inline constexpr Names<0> names_of{};

template <class Enum>
concept Named = (names_of<Enum>.size() > 0);

template <Named Enum>
constexpr const char* name_of(Enum value) {
  return names_of<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace openimb
