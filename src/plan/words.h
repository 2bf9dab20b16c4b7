// The words of an enumeration, each written once: on the command line, in text and in records.
#pragma once

#include <array>
#include <cstddef>

namespace openimb {

/// In the order of the enumerators. An enumeration has words where a specialization stands beside it.
template <class Enum>
inline constexpr std::array<const char*, 0> words_of{};

template <class Enum>
concept Worded = (words_of<Enum>.size() > 0);

template <Worded Enum>
constexpr const char* name_of(Enum value) {
  return words_of<Enum>[static_cast<std::size_t>(value)];
}

}  // namespace openimb
