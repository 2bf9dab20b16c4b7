// The benchmarks of all components as JSON: -list json. Other programs read it instead of having a list of
// their own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/component.h"

namespace openimb {

/// One line. schema/benchmarks.json is the one of an MPI that has all calls.
std::string catalog_json(std::span<const ComponentList> components, std::string_view version);

}  // namespace openimb
