// The value of an option as text, records and comparisons have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace openimb {

/// As the option takes it; none: std::monostate.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                 std::vector<std::int64_t>, std::vector<std::string>>;
/// By the names of the options, for the run record.
using OptionsInForce = std::vector<std::pair<std::string_view, OptionValue>>;

}  // namespace openimb
