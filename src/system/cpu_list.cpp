#include "system/cpu_list.h"

#include <charconv>
#include <cstddef>

namespace openimb::system {

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string list;
  for (std::size_t first = 0, last = 0; first < cpus.size(); first = ++last) {
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!list.empty()) list += ',';
    list += std::to_string(cpus[first]);
    if (last > first) list += '-' + std::to_string(cpus[last]);
  }
  return list;
}

std::vector<int> parse_cpu_list(std::string_view list) {
  std::vector<int> cpus;
  for (const char *at = list.data(), *const end = at + list.size(); at < end; ++at) {
    int first = 0;
    at = std::from_chars(at, end, first).ptr;
    int last = first;
    if (at < end && *at == '-') at = std::from_chars(at + 1, end, last).ptr;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace openimb::system
