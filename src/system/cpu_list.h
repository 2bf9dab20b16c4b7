// Lists of CPU numbers in the syntax of Linux: "0-3,8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openimb::system {

/// Formats CPU numbers, which must be ascending.
std::string format_cpu_list(const std::vector<int>& cpus);
/// Parses a text of format_cpu_list().
std::vector<int> parse_cpu_list(std::string_view list);

}  // namespace openimb::system
