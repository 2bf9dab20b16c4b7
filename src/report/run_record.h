// The first record of a launch: its command line, options and platform.
#pragma once

#include <string>

#include "model/option_value.h"
#include "result/measurement.h"

namespace openimb {

/// The record as a line of JSON.
std::string run_record(const RunFacts& facts, const OptionsInForce& options);

}  // namespace openimb
