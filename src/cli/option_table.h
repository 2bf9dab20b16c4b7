// The options as data. A row owns all that is known of an option: parsing, checks, -help, suggestions, the
// banner and the options in the run record derive from it. The rows are in options.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/command_line.h"
#include "cli/selection.h"
#include "cli/values.h"
#include "plan/words.h"

namespace openimb {

/// The state of parsing a command line.
struct Draft {
  const Program& program;
  int world;
  const ReadFile& read_file;
  SameFile same_file = {};
  std::int64_t wanted_processes = 0;  ///< -npmin as given
  bool by_exponents = false;          ///< lengths are powers of two that were asked for
  Options options{};
  std::optional<std::uint64_t> seed{};  ///< -seed
  NameLists names{};
  std::vector<std::string_view> given{};  ///< names of the options given, with repetitions

  bool has(std::string_view name) const { return std::ranges::find(given, name) != given.end(); }
};

/// How many values follow an option. optional_switch: on or off, as far as the next word is one; one_or_two:
/// joined by a comma, as far as is_second() takes the second.
enum class Values { none, one, one_or_two, optional_one, optional_switch, list };

/// The numbers that an option takes.
struct Range {
  std::int64_t lowest = 0, highest = 0;  ///< of whole numbers and sizes
  std::int64_t unit = 0;                 ///< above 0: a size; a number without a letter counts so many bytes
  double least = 0, most = 0;            ///< of real numbers
  double divisor = 1;                    ///< from the number given to the one that is kept
};
constexpr Range whole(std::int64_t lowest, std::int64_t highest) {
  return {.lowest = lowest, .highest = highest};
}
constexpr Range size(std::int64_t unit, std::int64_t lowest, std::int64_t highest) {
  return {.lowest = lowest, .highest = highest, .unit = unit};
}
constexpr Range real(double least, double most, double divisor = 1) {
  return {.least = least, .most = most, .divisor = divisor};
}

/// As on the command line, in the unit of `range`; empty without a value.
std::string to_text(const OptionValue& value, const Range& range);

/// Where the value of an option lies in Options, and how it is read and shown.
struct Home {
  void (*set)(Options& options, const Range& range, std::string_view word) = nullptr;  ///< throws BadValue
  OptionValue (*get)(const Options& options) = nullptr;
  bool is_switch = false;
  std::span<const char* const> words = {};  ///< all that it takes, of an enumeration
};

namespace home {

template <class Type>
inline constexpr bool is_optional = false;
template <class Type>
inline constexpr bool is_optional<std::optional<Type>> = true;

/// The member at the end of the path, through optional ones, which are filled in.
template <auto first, auto... rest>
auto& writable(auto& owner) {
  auto& member = owner.*first;
  if constexpr (sizeof...(rest) == 0) {
    return member;
  } else if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
    return writable<rest...>(member ? *member : member.emplace());
  } else {
    return writable<rest...>(member);
  }
}

/// The same; of an optional one that is empty, as it would be filled in.
template <auto first, auto... rest>
auto readable(const auto& owner) {
  const auto& member = owner.*first;
  if constexpr (sizeof...(rest) == 0) {
    return member;
  } else if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
    return readable<rest...>(member.value_or(typename std::remove_cvref_t<decltype(member)>::value_type{}));
  } else {
    return readable<rest...>(member);
  }
}

template <class Value>
Value read(const Range& range, std::string_view word) {
  if constexpr (is_optional<Value>) {
    return read<typename Value::value_type>(range, word);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return word.empty() || on_or_off(word);  // no word: an option without a value
  } else if constexpr (Worded<Value>) {
    return choice<Value>(word);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    if (range.unit > 0) return static_cast<Value>(byte_count(word, range.unit, range.lowest, range.highest));
    if constexpr (std::is_floating_point_v<Value>) {
      return real_number(word, range.least, range.most) / range.divisor;
    } else {
      return static_cast<Value>(whole_number(word, range.lowest, range.highest));
    }
  } else {
    return Value(word);
  }
}

template <class Value>
OptionValue shown(const Value& value) {
  if constexpr (is_optional<Value>) {
    return value ? shown(*value) : OptionValue();
  } else if constexpr (Worded<Value>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_integral_v<Value> && !std::is_same_v<Value, bool>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (requires { value.empty(); }) {
    return value.empty() ? OptionValue() : value;
  } else {
    return value;
  }
}

template <class Value>
constexpr std::span<const char* const> words() {
  if constexpr (Worded<Value>) return words_of<Value>;
  return {};
}

template <auto... path>
using Type = decltype(readable<path...>(Options()));

template <auto... path>
inline constexpr Home of{
    .set = [](Options& options, const Range& range,
              std::string_view word) { writable<path...>(options) = read<Type<path...>>(range, word); },
    .get = [](const Options& options) { return shown(readable<path...>(options)); },
    .is_switch = std::is_same_v<Type<path...>, bool>,
    .words = words<Type<path...>>()};

}  // namespace home

/// The home at the end of a path of members: at<&Options::settings, &Settings::repetitions>. The member's
/// type decides what is read: a switch, a number in the row's range, a word or a text.
template <auto... path>
inline constexpr const Home* at = &home::of<path...>;

/// The home of an option that is read by Option::apply.
template <auto get>
inline constexpr Home getter{.get = get};
template <OptionValue (*get)(const Options& options)>
inline constexpr const Home* shown_by = &getter<get>;

/// What happens to an option that no benchmark uses. It is refused, since the results would be taken for
/// those of another method; only options of IMB that job scripts give to every executable are noted.
enum class Unused { refused, noted };

/// Which benchmarks use an option.
struct Served {
  bool (*by)(const Spec& spec);
  std::string_view why = "has no benchmark for it";  ///< of a component: "IMB-MPI1 has no ..."
  Unused unused = Unused::refused;
};

/// When an option is applied: options that decide how others are read come first.
enum class Stage { lenient, settings, usual };

struct Option {
  std::string_view name;        ///< as on the command line, without the dash
  std::string_view alias = {};  ///< another name for the same
  bool common = false;          ///< one of those that -help shows
  Values values = Values::one;
  std::string_view syntax = {};    ///< of the values: "N[,VOL]"; empty: by the home
  std::string_view help = {};      ///< what it does, in one line; empty: the words of the home
  std::string_view standard = {};  ///< what holds without it, where neither of the next two has it
  std::string (*standard_of)(const Standard& standard) = nullptr;  ///< the same where components differ
  std::string_view example = {};                                   ///< option and values
  std::string_view details = {};  ///< what -help NAME adds; a newline ends a paragraph
  bool lists_parameters = false;  ///< which -help NAME shows, too
  const Home* home = nullptr;
  bool recorded = true;  ///< in the run record; false: as the value of another option, or not at all
  Range range = {};
  /// Instead of the home: called for each value, or once with an empty one where the option has none. Throws
  /// BadValue.
  void (*apply)(Draft& draft, std::string_view word) = nullptr;
  const Served* serves = nullptr;          ///< nullptr: all benchmarks
  std::string_view instead = {};           ///< the option that does the same for others
  std::string_view excludes = {};          ///< names of options that cannot be given with it, between blanks
  void (*settle)(Draft& draft) = nullptr;  ///< what it implies, once all options are read
  void (*check)(const Draft& draft) = nullptr;  ///< against all others, once settled. Throws UsageError
  Stage stage = Stage::usual;
  bool early = false;            ///< needed before MPI is up
  std::string_view banner = {};  ///< name of the line that states it where it is not at its default
  Options::Action action = Options::Action::run;  ///< other than run: decides alone, wherever it stands
  bool (*is_second)(std::string_view word) = nullptr;
};

struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};
std::span<const OptionGroup> option_groups();

/// The options of a component before any option is read.
Options default_options(const Standard& standard);

/// Applies one value of an option. Throws BadValue.
void apply(const Option& option, Draft& draft, std::string_view word);

/// The default of an option in a component; empty where there is none.
std::string standard_value(const Option& option, const Standard& standard);

/// One or two dashes and a letter: -1 and -.5 are values.
bool looks_like_option(std::string_view word);

/// The option that `word`, including its dashes, names; nullptr where there is none.
const Option* find_option(std::string_view word);

/// The name of the option that `word` may be a misspelling of, without dash, or an empty text.
std::string_view nearest_option(std::string_view word);

}  // namespace openimb
