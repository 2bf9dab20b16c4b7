// The benchmarks of all components as JSON (-list json), for other programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/component.h"

namespace openimb {

/// Returns one line. schema/benchmarks.json is such a line, of an MPI that has all calls.
std::string catalog_json(std::span<const ComponentList> components, std::string_view version);

}  // namespace openimb
