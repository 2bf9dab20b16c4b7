// The median of samples that were taken one after the other, and its confidence interval. The interval needs
// no distribution: it lies between two order statistics, as far from the median as the share of samples below
// it may be wrong (Woodruff, JASA 47, 1952; David and Nagaraja, Order Statistics, 2003, chapter 7).
//
// That share is less certain the more successive samples are correlated, and a short series does not
// determine its correlation: with any one estimate, intervals are too narrow. So the interval is an average
// over possible correlations (Hoeting et al., Statistical Science 14, 1999): autoregressions of first order,
// with and without noise. Their weights are restricted likelihoods of the ranks (Cheang and Reinsel, JASA 95,
// 2000), as estimates of correlation are otherwise too small. "Above the median" is taken to be as correlated
// as the ranks. That is so for samples at two levels; for others it is too much, so that their intervals are
// some percent too wide.
//
// Where even all samples are too few for 95 %, the interval is their range, but at least 10 samples are
// required: intervals only for series that look independent would contain the median less often.
#pragma once

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
  /// Number of independent samples with as wide an interval, by Student's t.
  double effective = 0;
};

/// `samples`, in the order of time, must not be empty.
MedianEstimate estimate_median(std::span<const double> samples);

}  // namespace openimb
