// Numbers of CPUs as Linux writes them: "0-3,8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openimb::system {

/// `cpus`: ascending.
std::string cpu_list(const std::vector<int>& cpus);
/// The CPUs in a text of cpu_list().
std::vector<int> cpus_in(std::string_view list);

}  // namespace openimb::system
