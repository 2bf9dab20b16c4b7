// The record that comes first: what a launch was asked for, and where it runs.
#pragma once

#include <string>

#include "plan/option_value.h"
#include "result/measurement.h"

namespace openimb {

/// A line.
std::string run_record(const RunFacts& facts, const OptionsInForce& options);

}  // namespace openimb
