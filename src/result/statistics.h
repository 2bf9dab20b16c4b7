// From times per rank to the figures of a row. Source: guide, "Output"; quantiles: nearest rank (Hyndman and
// Fan 1).
#pragma once

#include <span>

#include "result/measurement.h"

namespace openimb {

/// `seconds`: one rank's mean time of a repetition each, indexed by world rank; NaN for ranks that took no part.
/// `overlapped`: the same while the target computed, or empty. Applies the time factor. Multi::each_group gives a row per group, otherwise one
/// row whose extremes are over all groups and whose throughput follows from the largest time (guide: minimum
/// throughput).
std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int window, std::span<const double> seconds,
                         std::span<const double> overlapped = {});

/// Quantiles of one row's repetitions. `samples` is sorted in place and must not be empty.
Tail tail_of(std::span<double> samples);

}  // namespace openimb
