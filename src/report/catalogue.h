// The benchmarks of all components as JSON: -list json. What other programs read instead of a list of their
// own.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plan/component.h"

namespace openimb {

/// One line; schema/benchmarks.json holds it for an MPI that has all calls.
std::string catalogue_json(std::span<const ComponentList> components, std::string_view version);

}  // namespace openimb
