#include "plan/groups.h"

#include <algorithm>
#include <numeric>

namespace openimb {

std::vector<int> rank_order(int world, const std::optional<Map>& map) {
  std::vector<int> order;
  if (!map) {
    order.resize(world);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  for (int row = 0; row < map->rows; ++row) {
    for (int column = 0; column < map->columns; ++column) order.push_back(row + column * map->rows);
  }
  return order;
}

bool has_torus(const Spec& spec, int processes) {
  if (spec.stencil.dimensions == 0 || spec.any_torus) return true;
  return Torus(processes, spec.stencil.dimensions).is_proper();
}

std::vector<int> process_counts(const Spec& spec, int available, int min_processes) {
  const int partners = spec.uses_files() ? 1 : 2;
  if (spec.kind == Kind::single_transfer) {
    return available >= partners ? std::vector{partners} : std::vector<int>{};
  }
  std::vector<int> counts;
  for (long count = std::max(1, min_processes); count < available; count *= 2) {
    counts.push_back(static_cast<int>(count));
  }
  counts.push_back(available);
  std::erase_if(counts, [&](int count) { return count < spec.min_processes || !has_torus(spec, count); });
  return counts;
}

Grouping make_grouping(int world, int processes, bool grouped, const std::optional<Map>& map) {
  const std::vector<int> order = rank_order(world, map);
  const int group_count = grouped ? static_cast<int>(order.size()) / processes : 1;
  Grouping grouping{.processes = processes, .world = world, .groups = {}, .map = map};
  for (int group = 0; group < group_count; ++group) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(group) * processes;
    grouping.groups.emplace_back(first, first + processes);
  }
  std::ranges::sort(grouping.groups, {}, [](const std::vector<int>& group) { return group.front(); });
  return grouping;
}

}  // namespace openimb
