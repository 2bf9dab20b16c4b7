// From the times at which ranks began and ended each repetition, by the common clock, to the figures of a
// row.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace openimb {

/// Of each repetition of a group, in common time; `late` is above 0 where a rank began late.
struct ArrivalSeries {
  std::vector<double> first_arrival, last_arrival, first_exit, last_exit, late;

  std::size_t size() const { return late.size(); }
  std::size_t valid() const;
  /// The part of `values` that belongs to valid repetitions.
  std::vector<double> valid_values(const std::vector<double>& values) const;
  /// From the last arrival to the last exit, of valid repetitions.
  std::vector<double> times_from_last() const;
};

/// Medians over the valid repetitions of a group; NaN if no repetition is valid. Ranks: in the world; -1:
/// none.
struct GroupArrivals {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  double from_last = none, from_first = none, start_skew = none, exit_skew = none;
  double valid_percent = 0;
  double late_rank = -1, last_out_rank = -1;
};

GroupArrivals figures_of(const ArrivalSeries& series);

/// The median of the differences a - b in valid repetitions.
double median_difference(const ArrivalSeries& series, const std::vector<double>& a,
                         const std::vector<double>& b);

}  // namespace openimb
