// The names of an enumeration's values. The command line, text and records all use this one list.
#pragma once

#include <array>
#include <cstddef>

namespace openimb {

template <std::size_t count>
using Names = std::array<const char*, count>;

/// Names in the order of the enumerators. An enumeration has names if it specializes this variable. The
/// specializations write out Names<N>: with deduced arguments, GCC for Windows would define the variable in a
/// separate section in some units.
template <class Enum>
inline constexpr Names<0> names_of{};

template <class Enum>
concept Named = (names_of<Enum>.size() > 0);

template <Named Enum>
constexpr const char* name_of(Enum value) {
  return names_of<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace openimb
