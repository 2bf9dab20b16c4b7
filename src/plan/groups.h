// The process counts and groups on which a benchmark runs. Source: guide, "-npmin", "-multi", "-map",
// "Communicators, Active Processes".
#pragma once

#include <optional>
#include <vector>

#include "model/grouping.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Returns the world ranks in the order in which groups are filled: 0, 1, 2, ... or along the rows of `map`.
std::vector<int> rank_order(int world, const std::optional<Map>& map);

/// Whether `processes` processes can form the torus that the benchmark needs, so that no process is its own
/// neighbor. True for benchmarks without a torus.
bool has_torus(const Spec& spec, int processes);

/// Returns the process counts on which one benchmark runs. A single transfer runs on 2, or on 1 if it uses a
/// file. Other benchmarks run on min, 2 min, 4 min, ... and on all `available` processes. The result is empty
/// if the benchmark can run on none of these counts.
std::vector<int> process_counts(const Spec& spec, int available, int min_processes);

/// Divides the ranks into groups of `processes` ranks. `grouped`: as many groups as fit; otherwise one group.
Grouping make_grouping(int world, int processes, bool grouped, const std::optional<Map>& map);

}  // namespace openimb
