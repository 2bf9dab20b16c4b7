// Computes a row's values from the times at which ranks began and ended each repetition. The times are
// readings of the common clock.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace openimb {

/// The times of each repetition of a group, in seconds of the common clock. `late` is above 0 if a rank began
/// late, which makes the repetition invalid.
struct ArrivalSeries {
  std::vector<double> first_arrival, last_arrival, first_exit, last_exit, late;

  std::size_t size() const { return late.size(); }
  /// Number of valid repetitions.
  std::size_t valid() const;
  /// Returns the elements of `values` that belong to valid repetitions.
  std::vector<double> valid_values(const std::vector<double>& values) const;
  /// Returns the seconds from the last arrival to the last exit, for valid repetitions.
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

/// Returns the median of the differences a - b over valid repetitions; NaN if no repetition is valid.
double median_difference(const ArrivalSeries& series, const std::vector<double>& a,
                         const std::vector<double>& b);

}  // namespace openimb
