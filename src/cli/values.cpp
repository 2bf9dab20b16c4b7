#include "cli/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace openimb {

namespace {

// std::tolower would depend on the locale.
char lower_letter(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
}

template <class Number>
Number number_of(std::string_view text, const char* what) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) throw BadValue(quoted(text) + " is out of range");
  if (error != std::errc{} || end != text.data() + text.size())
    throw BadValue(quoted(text) + " is not " + what);
  return number;
}

double finite_number_of(std::string_view text, const char* what) {
  const double number = number_of<double>(text, what);
  if (!std::isfinite(number)) throw BadValue(quoted(text) + " is not " + what);
  return number;
}

template <class Number>
void check_range(std::string_view text, Number number, Number lowest, Number highest) {
  const auto shown = [](Number bound) {
    if constexpr (std::is_integral_v<Number>)
      return std::to_string(bound);
    else
      return to_text(bound);
  };
  if (number < lowest) throw BadValue(quoted(text) + " is below the minimum, " + shown(lowest));
  if (number > highest) throw BadValue(quoted(text) + " is above the maximum, " + shown(highest));
}

// Throws BadValue for a size that is out of bounds. The message has the bound in the unit of the size.
[[noreturn]] void refuse_size(std::string_view text, bool too_small, std::int64_t bound, std::int64_t unit) {
  const char* const name = unit == gibibyte ? " GB" : unit == mebibyte ? " MB" : unit > 1 ? " kB" : " bytes";
  const std::string in_units = std::to_string(bound / unit) + (unit == 1 && bound == 1 ? " byte" : name);
  if (!too_small) throw BadValue(quoted(text) + " is above the maximum, " + in_units);
  // A bound below one unit would be shown as 0.
  const bool above_zero = bound > 0 && bound < unit;
  throw BadValue(quoted(text) + (above_zero ? " is not above " : " is below the minimum, ") + in_units);
}

struct Suffix {
  std::int64_t factor = 1;
  std::size_t letters = 0;
};

Suffix suffix_of(std::string_view text) {
  const std::string word = lower_case(text);
  constexpr std::int64_t kibibyte = 1024;
  for (const auto& [letter, factor] : {std::pair{'k', kibibyte}, {'m', mebibyte}, {'g', gibibyte}}) {
    for (const char* rest : {"ib", "b", ""}) {
      const std::string ending = letter + std::string(rest);
      if (word.ends_with(ending)) return {factor, ending.size()};
    }
  }
  return {};
}

}  // namespace

std::string sanitized(std::string_view text, std::size_t longest) {
  std::string result(text.substr(0, longest));
  if (text.size() > longest) {
    // A character of several bytes (UTF-8) is not cut in two.
    constexpr unsigned char continuation_mask = 0xC0, continuation = 0x80;
    for (std::size_t i = longest;
         i > 0 && (static_cast<unsigned char>(text[i]) & continuation_mask) == continuation; --i) {
      result.pop_back();
    }
    result += "...";
  }
  std::ranges::replace_if(result, [](unsigned char letter) { return letter < ' ' || letter == 127; }, '?');
  return result;
}

std::string quoted(std::string_view text) { return '"' + sanitized(text) + '"'; }

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower_letter);
  return result;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower_letter, lower_letter);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string to_text(double number) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), result.ptr};
}

std::int64_t parse_integer(std::string_view text, std::int64_t lowest, std::int64_t highest) {
  const auto number = number_of<std::int64_t>(text, "a whole number");
  check_range(text, number, lowest, highest);
  return number;
}

double parse_real(std::string_view text, double lowest, double highest) {
  const double number = finite_number_of(text, "a number");
  check_range(text, number, lowest, highest);
  return number;
}

bool parse_switch(std::string_view text) {
  for (const char* word : {"on", "1", "yes", "true", "enable"}) {
    if (same_name(word, text)) return true;
  }
  for (const char* word : {"off", "0", "no", "false", "disable"}) {
    if (same_name(word, text)) return false;
  }
  throw BadValue(quoted(text) + " is neither on nor off");
}

bool is_switch(std::string_view text) {
  try {
    parse_switch(text);
    return true;
  } catch (const BadValue&) {
    return false;
  }
}

std::int64_t parse_bytes(std::string_view text, std::int64_t unit, std::int64_t lowest,
                         std::int64_t highest) {
  const Suffix suffix = suffix_of(text);
  const std::string_view digits = text.substr(0, text.size() - suffix.letters);
  const std::int64_t factor = suffix.letters > 0 ? suffix.factor : unit;
  const auto not_a_size = [&] { return BadValue(quoted(text) + " is not a size"); };

  std::int64_t whole = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, whole);
  if (error == std::errc{} && stop == end) {
    // The bound is checked before the multiplication, which could overflow.
    if (whole > highest / factor) refuse_size(text, false, highest, factor);
    if (whole < 0 || whole * factor < lowest) refuse_size(text, true, lowest, factor);
    return whole * factor;
  }

  double fraction = 0;
  const auto [real_stop, real_error] = std::from_chars(digits.data(), end, fraction);
  if (real_error == std::errc::result_out_of_range) throw BadValue(quoted(text) + " is out of range");
  if (real_error != std::errc{} || real_stop != end || !std::isfinite(fraction)) throw not_a_size();
  const double bytes = fraction * static_cast<double>(factor);
  if (bytes < 0) refuse_size(text, true, lowest, factor);
  if (bytes > static_cast<double>(highest)) refuse_size(text, false, highest, factor);
  if (unit == 1 && bytes != std::floor(bytes))
    throw BadValue(quoted(text) + " is not a whole number of bytes");
  const auto result = static_cast<std::int64_t>(bytes);
  if (result < lowest) refuse_size(text, true, lowest, factor);
  return result;
}

std::size_t parse_choice(std::span<const char* const> words, std::string_view text) {
  const auto same = [&](const char* word) { return same_name(word, text); };
  const auto word = std::ranges::find_if(words, same);
  if (word != words.end()) return static_cast<std::size_t>(word - words.begin());
  std::string all_words;
  for (const char* const known_word : words) (all_words += all_words.empty() ? "" : ", ") += known_word;
  throw BadValue(quoted(text) + " is not one of " + all_words);
}

}  // namespace openimb
