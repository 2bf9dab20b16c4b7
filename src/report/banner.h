// What stands above the first table.
#pragma once

#include <string>
#include <vector>

#include "plan/options.h"
#include "result/measurement.h"

namespace openimb {

/// `differences`: the parameters that are not as in standard mode, "NAME=VALUE" each.
std::string banner(const RunFacts& facts, const Options& options,
                   const std::vector<std::string>& differences);

}  // namespace openimb
