// The median of samples that were taken one after the other, and its confidence interval. The interval needs
// no distribution: it lies between two order statistics, as far from the median as the share of samples below
// it may be wrong (Woodruff, JASA 47, 1952; David and Nagaraja, Order Statistics, 2003, chapter 7).
//
// That share is less certain the more successive samples are correlated. The interval is wider by the larger
// of two factors: of an autoregression of first order with the lag-1 correlation of the samples' ranks, and
// of the sum of their autocorrelations while these are positive. The first is more certain in short series;
// noise between samples hides from it how long a machine is slow. Where the samples lie at two levels, the
// correlation of the levels counts too.
//
// Where even all samples are too few for 95 %, the interval is their range, but at least 10 samples are
// required: intervals only for series that look independent would contain the median less often.
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
