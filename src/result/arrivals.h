// Computes a row's values from the times, by the common clock, at which ranks began and ended each
// repetition.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace openimb {

/// Times of each repetition of a group, in seconds of the common clock. `late` is above 0 if a rank began
/// late: the repetition is then invalid.
struct ArrivalSeries {
  std::vector<double> first_arrival, last_arrival, first_exit, last_exit, late;

  std::size_t size() const { return late.size(); }
  /// Number of valid repetitions.
  std::size_t valid() const;
  /// The part of `values` that belongs to valid repetitions.
  std::vector<double> valid_values(const std::vector<double>& values) const;
  /// Seconds from the last arrival to the last exit, of valid repetitions.
  std::vector<double> times_from_last() const;
};

/// Medians over the valid repetitions of a group, in seconds; NaN if no repetition is valid. Ranks are world
/// ranks; -1: none.
struct GroupArrivals {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  double from_last = none, from_first = none, start_skew = none, exit_skew = none;
  double valid_percent = 0;
  double late_rank = -1, last_out_rank = -1;
};

GroupArrivals summarize_arrivals(const ArrivalSeries& series);

/// Median of the differences a - b over valid repetitions; NaN if there are none.
double median_difference(const ArrivalSeries& series, const std::vector<double>& a,
                         const std::vector<double>& b);

}  // namespace openimb
