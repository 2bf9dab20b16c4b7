// The median of samples in the order of time, and its 95 % confidence interval. The interval assumes no
// distribution. It lies between two order statistics, whose distance from the median is the uncertainty of
// the share of samples below the median (Woodruff, JASA 47, 1952; David and Nagaraja, Order Statistics, 2003,
// chapter 7).
//
// That share is less certain if successive samples are correlated. The interval widens by the larger of two
// factors. One uses a first-order autoregression with the lag-1 correlation of the samples' ranks, the other
// the sum of the ranks' autocorrelations while it is positive. The first is more certain in short series, but
// noise between samples hides from it how long a machine is slow. If the samples lie at two levels, the
// correlation of the levels counts as well.
//
// At least 10 samples are required. If even these are too few for 95 %, the interval is their range.
// Intervals only for series that look independent would contain the median less often.
#pragma once

#include <limits>
#include <optional>
#include <span>

namespace openimb {

struct Interval {
  double low = 0;
  double high = 0;
};

struct MedianEstimate {
  double median = 0;
  std::optional<Interval> interval;  ///< of 95 %; none with fewer than 10 samples
  /// Number of independent samples that would have as wide an interval; NaN without an interval.
  double effective = std::numeric_limits<double>::quiet_NaN();
};

/// `samples`, in the order of time, must not be empty.
MedianEstimate estimate_median(std::span<const double> samples);

}  // namespace openimb
