// The options as data: drives parsing, -help and suggestions.
// The rows are in options_*.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/draft.h"

namespace openimb {

/// How many values follow an option. optional_switch: on or off, as far as the next word is one; one_or_two:
/// joined by a comma, as far as is_second() takes the second.
enum class Values { none, one, one_or_two, optional_one, optional_switch, list };

struct Option {
  std::string_view name;  ///< as on the command line, without the dash
  Values values = Values::one;
  std::string_view syntax = {};    ///< of the values: "N[,VOL]"
  std::string_view help = {};      ///< what it does, in one line
  std::string_view standard = {};  ///< what holds without it; empty where nothing does
  /// The same where components differ, in place of `standard`.
  std::string (*standard_of)(const Standard& standard) = nullptr;
  std::string_view example = {};  ///< option and values
  std::string_view details = {};  ///< what -help NAME adds; a newline ends a paragraph
  /// Called for each word, or once with an empty one where the option has none. Throws BadValue.
  void (*apply)(Draft& draft, std::string_view word) = nullptr;
  Options::Action action = Options::Action::run;  ///< other than run: decides alone, wherever it stands
  bool (*is_second)(std::string_view word) = nullptr;
};

struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};
std::span<const OptionGroup> option_groups();

/// Selection, processes, lengths, repetitions; method, output, of threads, of fabrics, of memory, OpenIMB's
/// own.
std::span<const Option> selection_options();
std::span<const Option> process_options();
std::span<const Option> length_options();
std::span<const Option> repetition_options();
std::span<const Option> method_options();
std::span<const Option> output_options();
std::span<const Option> thread_options();
std::span<const Option> fabric_options();
std::span<const Option> memory_options();
std::span<const Option> own_options();

/// What holds in a component without the option; empty where nothing does.
std::string standard_value(const Option& option, const Standard& standard);

/// Whether it is the option of this name.
inline bool is(const Option* option, std::string_view name) {
  return option != nullptr && option->name == name;
}

/// One or two dashes and a letter: -1 and -.5 are values.
bool looks_like_option(std::string_view word);

/// The option `word` names, dashes included; nullptr where there is none.
const Option* find_option(std::string_view word);

/// The name of the option that `word` may be a misspelling of, without dash, or an empty text.
std::string_view nearest_option(std::string_view word);

}  // namespace openimb
