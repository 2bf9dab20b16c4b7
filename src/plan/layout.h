// Which ranks form which group. Source: guide, "-npmin", "-multi", "-map", "Communicators, Active Processes".
#pragma once

#include <optional>
#include <vector>

#include "plan/options.h"
#include "plan/spec.h"

namespace openimb {

/// The groups that run one table's benchmark at the same time.
struct Layout {
  int processes = 0;  ///< in each group
  int threads = 1;    ///< communicating threads of each process
  int world = 0;      ///< ranks of the launch
  /// World ranks by rank in the group; groups ordered by their first rank.
  std::vector<std::vector<int>> groups;
  std::optional<Map> map;

  int group_count() const { return static_cast<int>(groups.size()); }
  int idle() const { return world - processes * group_count(); }
  /// Index of the group a world rank belongs to, -1 for an idle rank.
  int group_of(int world_rank) const;
  /// Its rank in that group, 0 for an idle rank.
  int rank_in_group(int world_rank) const;
};

/// World ranks in the order in which groups are filled: 0, 1, 2, ... or, with a map, along its rows.
std::vector<int> rank_order(int world, const std::optional<Map>& map);

/// Whether the benchmark's neighbors are other processes.
bool has_torus(const Spec& spec, int processes);

/// The process counts one benchmark runs on: 2 for a single transfer, 1 where a file is the partner;
/// otherwise min, 2 min, 4 min, ... < available, available. Empty where the benchmark cannot run (it needs
/// two processes and there is one).
std::vector<int> process_counts(const Spec& spec, int available, int min_processes);

/// `grouped`: as many groups of `processes` ranks as fit; otherwise one group.
Layout make_layout(int world, int processes, bool grouped, const std::optional<Map>& map);

}  // namespace openimb
