// The parameters that -set knows by name: the guide's table, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/options.h"

namespace openimb {

struct Parameter {
  std::string_view name;
  std::string_view help;
  void (*set)(Settings& settings, std::string_view value);  ///< throws BadValue
  std::string (*show)(const Settings& settings);
};
std::span<const Parameter> parameters();

/// One NAME=VALUE. Throws BadValue.
void set_parameter(Settings& settings, std::string_view assignment);

IterationPolicy iteration_policy(std::string_view word);

}  // namespace openimb
