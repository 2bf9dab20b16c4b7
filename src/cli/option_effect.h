// Options that only some benchmarks can use.
#pragma once

#include <span>

#include "cli/command_line.h"
#include "cli/option_table.h"

namespace openimb {

/// Throws UsageError where the option is one of these and no selected benchmark can use it: the results would
/// be taken for those of another method.
void check_effect(const Program& program, const Option& option, std::span<const Selected> selection);

}  // namespace openimb
