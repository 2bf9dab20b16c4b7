// From times per rank to the figures of a row. Source: guide, "Output"; quantiles: nearest rank (Hyndman and
// Fan 1).
#pragma once

#include <span>
#include <vector>

#include "result/measurement.h"

namespace openimb {

/// The same times per rank while somebody computed; empty where nobody did.
struct Overlapped {
  std::vector<double> t_ovrl;
  std::vector<double> t_cpu;  ///< empty where it was another process that computed
};

/// `seconds`: one rank's mean time of a repetition each, indexed by world rank; NaN for ranks that took no
/// part. Applies the time factor. Multi::each_group gives a row per group, otherwise one row whose extremes
/// are over all groups and whose throughput follows from the largest time (guide: minimum throughput).
std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int window, std::span<const double> seconds,
                         const Overlapped& overlapped = {});

/// How much of the shorter of communication and computation the other one hid, in percent: guide, "Measuring
/// Communication and Computation Overlap". 0 where either takes no time.
double overlap_percent(double t_pure, double t_cpu, double t_ovrl);

/// Quantiles of one row's repetitions. `samples` is sorted in place and must not be empty.
Tail tail_of(std::span<double> samples);

/// What a row takes that was measured in `parts`, at least one, in seconds per repetition each: the mean
/// without the slowest and the fastest tenth (rounded down), so that a part from which somebody took the CPU
/// does not stand for the row.
double trimmed_mean(std::vector<double> parts);

}  // namespace openimb
