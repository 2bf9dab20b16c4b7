// The median of samples in the order of time, and its 95 % confidence interval. The interval assumes no
// distribution. It contains all values that a sign test does not reject as the median: the values for which
// the share of samples below them differs from one half by less than its uncertainty (Woodruff, JASA 47,
// 1952; David and Nagaraja, Order Statistics, 2003, chapter 7).
//
// That share is less certain if successive samples are correlated (sign test: Gastwirth and Rubin, JASA 66,
// 1971). Its variance follows from the autocorrelations of the signs, which say for each sample whether it is
// above the value. They are summed while sums of two are positive (Geyer, Statistical Science 7, 1992), once
// for the median, from the ranks, and once for each outer value. If a machine switches between two levels,
// the signs at a value between the levels show how long it stays at each one; the ranks hide this, because
// they also contain the noise within a level.
//
// A variance from few independent samples is uncertain. Student's t with n / (factor - 1) degrees of freedom,
// times a constant, allows for this; bench/passes.py shows the resulting coverage. The variance of a share of
// n independent samples is 1 / (4 (n + 2)), as for the median of uniform numbers, which agrees with
// interpolated order statistics of few samples (Hettmansperger and Sheather, Statistics & Probability Letters
// 4, 1986).
//
// At least 10 samples are required. They cannot show that they are correlated: the interval of 10 samples is
// their range, and up to 20 samples it approaches the method above.
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
