// The median of samples that were taken one after the other, and how well it is known. The interval needs no
// distribution: it lies between two order statistics (David and Nagaraja, Order Statistics, 2003, chapter 7).
// Samples that follow each other count for fewer: their effective number comes from the autocorrelation of
// "above the median" (Geyer's initial positive sequence, Statistical Science 7, 1992).
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
  std::optional<Interval> interval;  ///< of 95 %; none where the samples are too few to have one
  double effective = 0;              ///< number of independent samples that say as much
};

/// `samples`, in the order of time, must not be empty.
MedianEstimate estimate_median(std::span<const double> samples);

}  // namespace openimb
