#include "cli/option_table.h"

#include <vector>

#include "cli/suggestion.h"
#include "cli/values.h"

namespace openimb {

namespace {

std::string_view without_dashes(std::string_view word) {
  for (int dash = 0; dash < 2 && word.starts_with('-'); ++dash) word.remove_prefix(1);
  return word;
}

}  // namespace

std::span<const OptionGroup> option_groups() {
  static const OptionGroup groups[] = {
      {"Selection", selection_options()}, {"Processes", process_options()},
      {"Lengths", length_options()},      {"Repetitions", repetition_options()},
      {"Method", method_options()},       {"Output", output_options()},
      {"IMB-MT", thread_options()},       {"IMB-FABRIC", fabric_options()},
      {"GPU buffers", memory_options()},  {"Extensions (not in IMB)", own_options()},
  };
  return groups;
}

std::string standard_value(const Option& option, const Standard& standard) {
  return option.standard_of != nullptr ? option.standard_of(standard) : std::string(option.standard);
}

bool looks_like_option(std::string_view word) {
  const std::string_view rest = without_dashes(word);
  return word.starts_with('-') &&
         (rest.empty() || !(rest.front() == '.' || (rest.front() >= '0' && rest.front() <= '9')));
}

const Option* find_option(std::string_view word) {
  if (!looks_like_option(word)) return nullptr;
  const std::string_view name = without_dashes(word);
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      if (same_name(option.name, name) || (option.name == "help" && same_name(name, "h"))) return &option;
    }
  }
  return nullptr;
}

std::string_view nearest_option(std::string_view word) {
  std::vector<std::string_view> names;
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) names.push_back(option.name);
  }
  const std::string_view name = without_dashes(word);
  return nearest(name.substr(0, name.find('=')), names);
}

}  // namespace openimb
