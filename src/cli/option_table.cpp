#include "cli/option_table.h"

#include <vector>

#include "cli/suggestion.h"

namespace openimb {

namespace {

std::string_view without_dashes(std::string_view word) {
  for (int dash = 0; dash < 2 && word.starts_with('-'); ++dash) word.remove_prefix(1);
  return word;
}

}  // namespace

std::string to_text(const OptionValue& value, const Range& range) {
  struct Text {
    const Range& range;
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool on) const { return on ? "on" : "off"; }
    std::string operator()(std::int64_t number) const {
      return std::to_string(range.unit > 0 ? number / range.unit : number);
    }
    std::string operator()(double number) const { return openimb::to_text(number * range.divisor); }
    std::string operator()(const std::string& text) const { return text; }
  };
  return std::visit(Text{range}, value);
}

Options default_options(const Standard& standard) {
  Options options;
  options.standard = standard;
  options.settings = standard.settings;
  options.data.type = standard.data;
  options.reduction.type = standard.reduction;
  options.in_flight = standard.in_flight;
  if (standard.threaded) options.counts = {1, 2, 4, 8};
  return options;
}

void apply(const Option& option, Draft& draft, std::string_view word) {
  if (option.apply != nullptr) return option.apply(draft, word);
  if (option.home != nullptr) option.home->set(draft.options, option.range, word);
}

std::string standard_value(const Option& option, const Standard& standard) {
  if (option.standard_of != nullptr) return option.standard_of(standard);
  const bool has_value = option.values != Values::none && option.values != Values::optional_switch;
  if (!option.standard.empty() || option.home == nullptr || !has_value) return std::string(option.standard);
  return to_text(option.home->get(default_options(standard)), option.range);
}

StatedOptions stated_options(const Options& options) {
  const Options standard = default_options(options.standard);
  StatedOptions stated{.settings = settings_that_differ(options), .lines = {}};
  auto& lines = stated.lines;
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      if (option.banner.empty() || option.home->get(options) == option.home->get(standard)) continue;
      const std::string text =
          "-" + std::string(option.name) + " " + to_text(option.home->get(options), option.range);
      if (!lines.empty() && lines.back().first == option.banner) {
        lines.back().second += " " + text;
      } else {
        lines.emplace_back(option.banner, text);
      }
    }
  }
  return stated;
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
      if (same_name(option.name, name) || (!option.alias.empty() && same_name(option.alias, name))) {
        return &option;
      }
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
