// Converts a word to a value: whole and real numbers, sizes in bytes, on or off, one of several words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/names.h"
#include "model/options.h"

namespace openimb {

/// The error of a value. The caller adds the option, or the line of the file.
class BadValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int max_int = std::numeric_limits<int>::max();
inline constexpr std::int64_t max_bytes = std::int64_t{1} << 62;
inline constexpr std::int64_t max_exponent = 40;
inline constexpr std::int64_t max_seed = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t max_extent = 4096;
inline constexpr std::int64_t max_cache = std::int64_t{1} << 40;
inline constexpr std::int64_t max_cache_line = 1 << 20;

/// Prepares text of the user for a message: one line, cut to `longest` bytes.
std::string sanitized(std::string_view text, std::size_t longest = 60);
/// Sanitizes the text and puts it in quotes.
std::string quoted(std::string_view text);
std::string lower_case(std::string_view text);
bool same_name(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);

/// The parts between separators; "a,,b" has an empty part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The shortest text that reads back as the same number.
std::string to_text(double number);

/// These functions throw BadValue.
std::int64_t parse_integer(std::string_view text, std::int64_t lowest, std::int64_t highest);
double parse_real(std::string_view text, double lowest, double highest);
bool parse_switch(std::string_view text);
/// Whether parse_switch() accepts the text.
bool is_switch(std::string_view text);

/// A size: k, m and g (also KiB, kB, ...) are powers of 1024; a number without a letter counts `unit` bytes.
/// With unit 1 the result must be whole; otherwise it is rounded down.
std::int64_t parse_bytes(std::string_view text, std::int64_t unit, std::int64_t lowest, std::int64_t highest);

/// The row whose word, word_of(row), is equal to `text`, in any case.
template <class Rows, class WordOf>
const auto& parse_choice(const Rows& rows, WordOf word_of, std::string_view text) {
  std::string words;
  for (const auto& row : rows) {
    if (same_name(std::invoke(word_of, row), text)) return row;
    words += (words.empty() ? "" : ", ") + std::string(std::invoke(word_of, row));
  }
  throw BadValue(quoted(text) + " is not one of " + words);
}

/// The index of the word that is equal to `text`, in any case.
std::size_t parse_choice(std::span<const char* const> words, std::string_view text);

/// The value of an enumeration whose word is `text`.
template <Named Enum>
Enum parse_choice(std::string_view text) {
  // The guide's table spells the values of ITER_POLICY as C names.
  if constexpr (std::is_same_v<Enum, IterationPolicy>) {
    if (same_name(text.substr(0, 6), "imode_")) text.remove_prefix(6);
  }
  return static_cast<Enum>(parse_choice(names_of<Enum>, text));
}

/// "a, b or c".
template <class Words>
std::string listed(const Words& words) {
  std::string text;
  std::size_t left = std::size(words);
  for (const auto& word : words) {
    text += word;
    if (--left > 0) text += left == 1 ? " or " : ", ";
  }
  return text;
}

}  // namespace openimb
