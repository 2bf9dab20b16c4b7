// The words of an enumeration, each written once: on the command line, in text and in records.
#pragma once

#include <array>
#include <cstddef>

namespace openimb {

template <std::size_t count>
using Words = std::array<const char*, count>;

/// In the order of the enumerators. An enumeration has words if it comes with a specialization. Its type has
/// no deduced arguments: GCC for Windows would define it in a section of its own in some units.
template <class Enum>
inline constexpr Words<0> words_of{};

template <class Enum>
concept Worded = (words_of<Enum>.size() > 0);

template <Worded Enum>
constexpr const char* name_of(Enum value) {
  return words_of<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace openimb
