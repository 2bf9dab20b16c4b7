#include "system/placement.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

namespace openimb::system {

namespace {

int number_in(const std::string& path) {
  std::ifstream file(path);
  int number = -1;
  return file >> number ? number : -1;
}

// The folder of a CPU has a link to the folder of its NUMA node, "node0".
int numa_in(const std::string& folder) {
  constexpr std::string_view prefix = "node";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    int node = -1;
    const char* const last = name.data() + name.size();
    const auto [rest, problem] = std::from_chars(name.data() + prefix.size(), last, node);
    if (problem == std::errc() && rest == last) return node;
  }
  return -1;
}

}  // namespace

// /sys exists on Linux only; elsewhere the files do not open, and the place is unknown.
CpuPlace place_of_cpu(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  return {.socket = number_in(folder + "/topology/physical_package_id"),
          .numa = numa_in(folder),
          .core = number_in(folder + "/topology/core_id")};
}

}  // namespace openimb::system
