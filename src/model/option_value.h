// The value of an option, for text, records and comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace openimb {

/// std::monostate: the option has no value.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                 std::vector<std::int64_t>, std::vector<std::string>>;
/// Names and values of options, for the run record.
using OptionsInForce = std::vector<std::pair<std::string_view, OptionValue>>;

}  // namespace openimb
