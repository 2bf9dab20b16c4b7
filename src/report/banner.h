// The banner: the text above the first table.
#pragma once

#include <string>
#include <vector>

#include "model/options.h"
#include "result/measurement.h"

namespace openimb {

std::string banner(const RunFacts& facts, const Options& options, const StatedOptions& stated);

}  // namespace openimb
