// The parameters that -set takes by name: the table of the guide, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"

namespace openimb {

struct Parameter {
  std::string_view name;
  std::string_view help;
  const Field* field;
  Range range = {};
  std::string_view option = {};  ///< the option that also sets it
};
std::span<const Parameter> parameters();

/// Sets a parameter. `assignment`: NAME=VALUE. Throws BadValue.
void set_parameter(Options& options, std::string_view assignment);

/// NAME=VALUE of each parameter that no option sets.
std::vector<std::string> settings_without_option(const Options& options);

}  // namespace openimb
