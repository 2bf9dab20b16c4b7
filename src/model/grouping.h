// How the ranks of a launch are divided into groups; each group has its own communicator. Source: guide,
// "-multi", "-map", "Communicators, Active Processes".
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "model/options.h"

namespace openimb {

/// The groups that run one table's benchmark at the same time.
struct Grouping {
  int processes = 0;  ///< number of processes in each group
  int threads = 1;    ///< number of communicating threads in each process
  int world = 0;      ///< number of ranks of the launch
  /// World ranks by rank in the group; groups ordered by their first rank.
  std::vector<std::vector<int>> groups;
  std::optional<Map> map;

  int group_count() const { return static_cast<int>(groups.size()); }
  /// Number of ranks that belong to no group.
  int idle() const { return world - processes * group_count(); }
  /// Index of the group of a world rank; -1 for an idle rank.
  int group_of(int world_rank) const {
    for (int group = 0; group < group_count(); ++group) {
      if (std::ranges::find(groups[group], world_rank) != groups[group].end()) return group;
    }
    return -1;
  }
  /// Rank of a world rank within its group; 0 for an idle rank.
  int rank_in_group(int world_rank) const {
    const int group = group_of(world_rank);
    if (group < 0) return 0;
    const std::vector<int>& members = groups[static_cast<std::size_t>(group)];
    return static_cast<int>(std::ranges::find(members, world_rank) - members.begin());
  }
};

}  // namespace openimb
