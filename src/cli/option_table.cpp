#include "cli/option_table.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cli/suggestion.h"

namespace openimb {

namespace {

std::string_view strip_dashes(std::string_view word) {
  for (int dash = 0; dash < 2 && word.starts_with('-'); ++dash) word.remove_prefix(1);
  return word;
}

OptionValue convert_to_unit(const OptionValue& value, const Range& range) {
  if (const auto* const size = std::get_if<std::int64_t>(&value); size != nullptr && range.unit > 1) {
    if (*size % range.unit == 0) return *size / range.unit;
    return static_cast<double>(*size) / static_cast<double>(range.unit);
  }
  if (const auto* const number = std::get_if<double>(&value); number != nullptr && range.divisor != 1) {
    std::array<char, 32> text{};  // rounds to 15 digits, so that 0.07 * 100 is 7
    std::snprintf(text.data(), text.size(), "%.15g", *number * range.divisor);
    return std::strtod(text.data(), nullptr);
  }
  return value;
}

/// Converts a value to text as it is written on the command line.
struct Text {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool on) const { return on ? "on" : "off"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return openimb::to_text(number); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const auto& list) const {
    std::string text;
    for (const auto& element : list) (text += text.empty() ? "" : ",") += (*this)(element);
    return text;
  }
};

}  // namespace

std::string to_text(const OptionValue& value, const Range& range) {
  return std::visit(Text{}, convert_to_unit(value, range));
}

Options default_options(const Defaults& defaults) {
  Options options;
  options.defaults = defaults;
  options.settings = defaults.settings;
  options.data.type = defaults.data;
  options.reduction.type = defaults.reduction;
  options.in_flight = defaults.in_flight;
  options.check = defaults.check;
  if (defaults.counts.back() > 0) options.counts.assign(defaults.counts.begin(), defaults.counts.end());
  if (defaults.lengths.back() > 0) options.lengths.assign(defaults.lengths.begin(), defaults.lengths.end());
  return options;
}

void apply(const Option& option, ParseState& state, std::string_view word) {
  if (option.apply != nullptr) return option.apply(state, word);
  if (option.field != nullptr) option.field->set(state.options, option.range, word);
}

std::string default_value(const Option& option, const Defaults& defaults) {
  if (option.default_of != nullptr) return option.default_of(defaults);
  const bool has_value = option.values != Values::none && option.values != Values::optional_switch;
  if (!option.default_text.empty() || option.field == nullptr || !has_value || option.lists_parameters) {
    return std::string(option.default_text);
  }
  return to_text(option.field->get(default_options(defaults)), option.range);
}

std::vector<std::string> executables_with(const Program& program, const Option& option) {
  std::vector<std::string> executables;
  for (const ComponentList& component : program.suite) {
    if (option.used_by == nullptr || std::ranges::any_of(component.benchmarks, option.used_by->matches)) {
      executables.push_back(executable_of(component.facts.name));
    }
  }
  return executables;
}

StatedOptions stated_options(const Options& options) {
  const Options defaults = default_options(options.defaults);
  StatedOptions stated{.settings = settings_that_differ(options), .lines = {}};
  auto& lines = stated.lines;
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      if (option.banner.empty() || option.field->get(options) == option.field->get(defaults)) continue;
      const std::string text =
          "-" + std::string(option.name) + " " + to_text(option.field->get(options), option.range);
      if (!lines.empty() && lines.back().first == option.banner) {
        lines.back().second += " " + text;
      } else {
        lines.emplace_back(option.banner, text);
      }
    }
  }
  return stated;
}

OptionsInForce options_in_force(std::span<const Spec> catalog, const Options& options) {
  OptionsInForce in_force;
  for (const OptionGroup& group : option_groups()) {
    for (const Option& option : group.options) {
      if (option.field == nullptr || !option.recorded) continue;
      if (option.used_by != nullptr && std::ranges::none_of(catalog, option.used_by->matches)) continue;
      in_force.emplace_back(option.name, convert_to_unit(option.field->get(options), option.range));
    }
  }
  return in_force;
}

bool looks_like_option(std::string_view word) {
  const std::string_view name = strip_dashes(word);
  return word.starts_with('-') &&
         (name.empty() || !(name.front() == '.' || (name.front() >= '0' && name.front() <= '9')));
}

const Option* find_option(std::string_view word) {
  if (!looks_like_option(word)) return nullptr;
  const std::string_view name = strip_dashes(word);
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
  const std::string_view name = strip_dashes(word);
  return nearest(name.substr(0, name.find('=')), names);
}

}  // namespace openimb
