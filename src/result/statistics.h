// Computes a row's values from times per rank. Source: guide, "Output". Quantiles use the nearest rank
// (Hyndman and Fan 1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "result/arrivals.h"
#include "result/measurement.h"

namespace openimb {

/// Seconds per repetition with computation, indexed like PointTimes::seconds; empty in benchmarks without
/// overlap.
struct OverlapTimes {
  std::vector<double> t_ovrl;
  std::vector<double> t_cpu;  ///< empty if another process computed
};

/// What the ranks report about one point, gathered at rank 0. A vector of times has one entry per thread of
/// each rank, at world rank * threads + thread; NaN if the rank took no part.
struct PointTimes {
  std::vector<double> seconds;  ///< mean per repetition
  OverlapTimes overlapped = {};
  /// For each row, the slowest time of each repetition; or empty.
  std::vector<std::vector<double>> repetition_seconds = {};
  std::vector<double> defects = {};  ///< wrong bytes by world rank; empty without -check
  std::optional<double> load_drift = {};
  std::vector<std::pair<std::string, std::string>> hints = {};
  /// By group, if repetitions begin at agreed times; otherwise empty. The three values that follow apply to
  /// all groups; NaN: not measured.
  std::vector<GroupArrivals> arrivals = {};
  double clock_bound = GroupArrivals::none, clock_disagreement = GroupArrivals::none;
  double arrival_width = GroupArrivals::none;
  bool given_up = false;
  /// If threads take turns: the part of `seconds` spent waiting for the turn.
  std::vector<double> waiting = {};
};

/// Computes the rows of a point. `in_flight`: messages in flight per repetition, in benchmarks that print a
/// message rate. Applies the time factor to all times except `repetition_seconds`, to which the caller has
/// applied it.
Measurement measurement_of(const Table& table, std::int64_t bytes, std::int64_t repetitions, int in_flight,
                           PointTimes times);

/// Computes rows from times only. Multi::each_group gives a row per group. Otherwise there is one row: its
/// extremes are over all groups, and its throughput follows from the largest time (guide: minimum
/// throughput).
std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int in_flight,
                         std::span<const double> seconds, const OverlapTimes& overlapped = {});

/// Returns the ratio of the time that the table shows to the time of a repetition.
double factor_of(const Table& table, int in_flight);

/// Computes the figures that follow from other figures of the row and from the processes that took part
/// (PassCombination::derived).
void derive_figures(Row& row, const Table& table, std::int64_t bytes, int in_flight);

/// Returns how much of the shorter of communication and computation overlapped with the other, in percent; 0
/// if either takes no time. Source: guide, "Measuring Communication and Computation Overlap".
double overlap_percent(double t_pure, double t_cpu, double t_ovrl);

/// Returns the quantiles of one row's repetitions. `seconds` must not be empty.
Tail tail_of(std::vector<double> seconds);

/// Returns the seconds per repetition of a row from the seconds of its `segments` (at least one). The result
/// is their mean without the slowest and the fastest tenth (rounded down), so that a segment in which a rank
/// lost its CPU does not decide the row.
double trimmed_mean(std::vector<double> segments);

}  // namespace openimb
