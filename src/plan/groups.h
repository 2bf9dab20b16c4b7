// Process counts and groups of a benchmark. Source: guide, "-npmin", "-multi", "-map", "Communicators, Active
// Processes".
#pragma once

#include <optional>
#include <vector>

#include "model/grouping.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// World ranks in the order in which groups are filled: 0, 1, 2, ... or, with a map, along its rows.
std::vector<int> rank_order(int world, const std::optional<Map>& map);

/// Whether the benchmark's neighbors are other processes.
bool has_torus(const Spec& spec, int processes);

/// The process counts one benchmark runs on: 2 for a single transfer, 1 where a file is the partner;
/// otherwise min, 2 min, 4 min, ... < available, available. Empty where the benchmark cannot run (it needs
/// two processes and there is one).
std::vector<int> process_counts(const Spec& spec, int available, int min_processes);

/// `grouped`: as many groups of `processes` ranks as fit; otherwise one group.
Grouping make_grouping(int world, int processes, bool grouped, const std::optional<Map>& map);

}  // namespace openimb
