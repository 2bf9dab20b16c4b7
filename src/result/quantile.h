// Quantiles of samples.
#pragma once

#include <span>
#include <vector>

namespace openimb {

/// Interpolates between order statistics. The i-th one, counted from 0, is the quantile (i + 1/2) / n
/// (Hyndman and Fan 5). `sorted` must not be empty; `p`: 0 to 1.
double quantile_of_sorted(std::span<const double> sorted, double p);

/// `samples` must not be empty.
double median_of(std::vector<double> samples);

}  // namespace openimb
