// The parameters that -set takes by name: the guide's table, as data.
#pragma once

#include <span>
#include <string_view>

#include "cli/option_table.h"

namespace openimb {

struct Parameter {
  std::string_view name;
  std::string_view help;
  const Home* home;
  Range range = {};
};
std::span<const Parameter> parameters();

/// One NAME=VALUE. Throws BadValue.
void set_parameter(Options& options, std::string_view assignment);

}  // namespace openimb
