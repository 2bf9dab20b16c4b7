// The options as data. A row has all facts about an option: parsing, checks, -help, suggestions, the banner
// and the options in the run record are derived from it. The rows are in options.cpp.
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
#include "model/names.h"

namespace openimb {

/// The state while a command line is parsed.
struct ParseState {
  const Program& program;
  int world;
  const ReadFile& read_file;
  SameFile same_file = {};
  std::int64_t wanted_processes = 0;  ///< -npmin as given
  Options options{};
  std::optional<std::uint64_t> seed{};  ///< -seed
  NameLists names{};
  std::vector<std::string_view> given{};  ///< names of the options given, with repetitions

  bool has(std::string_view name) const { return std::ranges::find(given, name) != given.end(); }
};

/// The number of values after an option. optional_switch: on or off, if the next word is one of them;
/// one_or_two: the next word is a second value if is_second() accepts it, and is joined to the first by a
/// comma.
enum class Values { none, one, one_or_two, optional_one, optional_switch, list };

/// The numbers that an option takes.
struct Range {
  std::int64_t min = 0, max = 0;      ///< limits of whole numbers and sizes
  std::int64_t unit = 0;              ///< above 0: a size; bytes of a unit in a number without a letter
  double min_real = 0, max_real = 0;  ///< limits of real numbers
  double divisor = 1;                 ///< the number given is divided by it
};
constexpr Range whole(std::int64_t min, std::int64_t max) { return {.min = min, .max = max}; }
constexpr Range size(std::int64_t unit, std::int64_t min, std::int64_t max) {
  return {.min = min, .max = max, .unit = unit};
}
constexpr Range real(double min, double max, double divisor = 1) {
  return {.min_real = min, .max_real = max, .divisor = divisor};
}

/// The value as it is written on the command line, in the unit of `range`; empty without a value.
std::string to_text(const OptionValue& value, const Range& range);

/// Where the value of an option is stored in Options, and how it is read and shown.
struct Field {
  void (*set)(Options& options, const Range& range, std::string_view word) = nullptr;  ///< throws BadValue
  OptionValue (*get)(const Options& options) = nullptr;
  bool is_switch = false;
  std::span<const char* const> words = {};  ///< for an enumeration, the names of its values
};

namespace field {

template <class Type>
inline constexpr bool is_optional = false;
template <class Type>
inline constexpr bool is_optional<std::optional<Type>> = true;

/// The member at the end of the path. Empty optional members on the path get a default value.
template <auto first, auto... rest>
auto& member_at(auto& owner) {
  auto& member = owner.*first;
  if constexpr (sizeof...(rest) == 0) {
    return member;
  } else if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
    return member_at<rest...>(member ? *member : member.emplace());
  } else {
    return member_at<rest...>(member);
  }
}

/// A copy of the member at the end of the path. Empty optional members on the path count as default values.
template <auto first, auto... rest>
auto value_at(const auto& owner) {
  const auto& member = owner.*first;
  if constexpr (sizeof...(rest) == 0) {
    return member;
  } else if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
    return value_at<rest...>(member.value_or(typename std::remove_cvref_t<decltype(member)>::value_type{}));
  } else {
    return value_at<rest...>(member);
  }
}

template <class Value>
Value read(const Range& range, std::string_view word) {
  if constexpr (is_optional<Value>) {
    return read<typename Value::value_type>(range, word);
  } else if constexpr (std::is_same_v<Value, bool>) {
    return word.empty() || parse_switch(word);  // no word: an option without a value
  } else if constexpr (Named<Value>) {
    return parse_choice<Value>(word);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    if (range.unit > 0) return static_cast<Value>(parse_bytes(word, range.unit, range.min, range.max));
    if constexpr (std::is_floating_point_v<Value>) {
      return parse_real(word, range.min_real, range.max_real) / range.divisor;
    } else {
      return static_cast<Value>(parse_integer(word, range.min, range.max));
    }
  } else {
    return Value(word);
  }
}

template <class Value>
OptionValue to_option_value(const Value& value) {
  if constexpr (is_optional<Value>) {
    return value ? to_option_value(*value) : OptionValue();
  } else if constexpr (Named<Value>) {
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
  if constexpr (Named<Value>) return names_of<Value>;
  return {};
}

template <auto... path>
using Type = decltype(value_at<path...>(Options()));

template <auto... path>
inline constexpr Field of{
    .set = [](Options& options, const Range& range,
              std::string_view word) { member_at<path...>(options) = read<Type<path...>>(range, word); },
    .get = [](const Options& options) { return to_option_value(value_at<path...>(options)); },
    .is_switch = std::is_same_v<Type<path...>, bool>,
    .words = words<Type<path...>>()};

}  // namespace field

/// The field at the end of a path of members, as at<&Options::settings, &Settings::repetitions>. The type of
/// the member decides what is read: a switch, a number in the range of the row, a word or a text.
template <auto... path>
inline constexpr const Field* at = &field::of<path...>;

/// The field of an option that Option::apply reads.
template <auto get>
inline constexpr Field getter{.get = get};
template <OptionValue (*get)(const Options& options)>
inline constexpr const Field* computed_by = &getter<get>;

/// What happens to an option that no benchmark uses. It is refused, because the user would believe that the
/// results were measured with it. Options of IMB that job scripts give to every executable only get a note.
enum class UnusedOption { refused, noted };

/// Which benchmarks use an option.
struct BenchmarkFilter {
  bool (*matches)(const Spec& spec);
  /// Follows the name of a component in messages: "IMB-MPI1 has no ...".
  std::string_view why = "has no benchmark that uses it";
  UnusedOption unused = UnusedOption::refused;
};

/// When an option is applied. Options that affect how others are read come first.
enum class Stage { lenient, settings, usual };

struct Option {
  std::string_view name;        ///< as on the command line, without the dash
  std::string_view alias = {};  ///< another name of the option
  bool common = false;          ///< -help shows it; otherwise only -help all
  Values values = Values::one;
  std::string_view syntax = {};        ///< syntax of the values, as "N[,VOL]"; empty: derived from the field
  std::string_view help = {};          ///< what it does, in one line; empty: the names of the field's values
  std::string_view default_text = {};  ///< the default, if neither `default_of` nor `field` has it
  std::string (*default_of)(const Defaults& defaults) = nullptr;  ///< the default, if components differ
  std::string_view example = {};                                  ///< option and values
  std::string_view details = {};  ///< what -help NAME adds; a newline ends a paragraph
  bool lists_parameters = false;  ///< -help NAME also shows the parameters of -set
  const Field* field = nullptr;
  bool recorded = true;  ///< in the run record; false: another option has the value, or it is not recorded
  Range range = {};
  /// Reads the value instead of the field. Called for each value, or once with an empty word if the option
  /// has no value. Throws BadValue.
  void (*apply)(ParseState& state, std::string_view word) = nullptr;
  const BenchmarkFilter* used_by = nullptr;  ///< the benchmarks that use it; nullptr: all
  std::string_view instead = {};             ///< the option that does the same for other benchmarks
  std::string_view excludes = {};  ///< names of options that cannot be given with it, between blanks
  void (*imply)(ParseState& state) = nullptr;  ///< applies what it implies, once all options are read
  void (*check)(const ParseState& state) =
      nullptr;  ///< checks it with all others after that; throws UsageError
  Stage stage = Stage::usual;
  bool early = false;            ///< needed before MPI_Init
  std::string_view banner = {};  ///< name of the line in the banner that shows it unless it has its default
  Options::Action action = Options::Action::run;  ///< other than run: all other options are ignored
  bool (*is_second)(std::string_view word) = nullptr;
};

struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};
std::span<const OptionGroup> option_groups();

/// The options of a component before any option is read.
Options default_options(const Defaults& defaults);

/// Applies one value of an option. Throws BadValue.
void apply(const Option& option, ParseState& state, std::string_view word);

/// The default of an option in a component; empty if it has none.
std::string default_value(const Option& option, const Defaults& defaults);

/// The message about two options that cannot be given together.
inline std::string cannot_combine(const std::string& one, const std::string& other) {
  return one + " and " + other + " cannot be combined; give one of them";
}

/// The executables of the suite with a benchmark that uses the option.
std::vector<std::string> executables_with(const Program& program, const Option& option);

/// One or two dashes and a letter: -1 and -.5 are values.
bool looks_like_option(std::string_view word);

/// The option that `word`, including its dashes, names, or nullptr.
const Option* find_option(std::string_view word);

/// The option name nearest to a misspelled `word`, without dash, or an empty text.
std::string_view nearest_option(std::string_view word);

}  // namespace openimb
