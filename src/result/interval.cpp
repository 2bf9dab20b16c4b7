#include "result/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "result/quantile.h"

namespace openimb {

namespace {

using Numbers = std::vector<double>;

// Standard errors added to the correlation of levels, as most series have only a few changes of level.
// bench/passes.py shows the resulting coverage.
constexpr double margin_of_levels = 2;
// The samples lie at two levels if the levels explain at least this share of their variance and each has at
// least this share of the samples. The best two levels of normal samples explain 0.64.
constexpr double least_explained = 0.9;
constexpr double least_group_share = 0.1;

// Returns the ranks of the samples, up to a constant factor and offset. Equal samples (ties) get the mean of
// their ranks.
Numbers ranks_of(std::span<const double> samples, std::span<const double> sorted) {
  Numbers ranks;
  for (const double sample : samples) {
    const auto equal = std::ranges::equal_range(sorted, sample);
    ranks.push_back(static_cast<double>((equal.begin() - sorted.begin()) + (equal.end() - sorted.begin())));
  }
  return ranks;
}

// Returns for each sample whether it is at the upper of two levels (1) or not (0); empty if the samples do
// not lie at two levels. The limit between the levels has the largest variance between them (Otsu, IEEE SMC
// 9, 1979).
Numbers levels_of(std::span<const double> samples, std::span<const double> sorted) {
  const auto count = static_cast<double>(sorted.size());
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double all = 0;
  for (const double sample : sorted) all += (sample - mean) * (sample - mean);
  double sum = 0, most = 0, limit = 0, below = 0;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    sum += sorted[i] - mean;
    const auto lower = static_cast<double>(i + 1);
    const double between = sum * sum * count / (lower * (count - lower));
    if (between <= most) continue;
    most = between;
    limit = sorted[i];
    below = lower;
  }
  Numbers levels;
  if (most <= least_explained * all || std::min(below, count - below) < least_group_share * count)
    return levels;
  for (const double sample : samples) levels.push_back(sample > limit ? 1 : 0);
  return levels;
}

/// Autocorrelations of a series whose values are not all equal.
class Autocorrelation {
 public:
  explicit Autocorrelation(const Numbers& values) : centered_(values) {
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count();
    for (double& value : centered_) value -= mean;
    squares_ = std::inner_product(centered_.begin(), centered_.end(), centered_.begin(), 0.0);
  }
  double count() const { return static_cast<double>(centered_.size()); }
  double at(std::size_t lag) const {
    const auto end = centered_.end() - static_cast<std::ptrdiff_t>(lag);
    const auto later = centered_.begin() + static_cast<std::ptrdiff_t>(lag);
    return std::inner_product(centered_.begin(), end, later, 0.0) / squares_;
  }

 private:
  Numbers centered_;
  double squares_ = 0;
};

// The next two functions return the variance of the mean of correlated samples, as a multiple of the variance
// of the mean of independent samples.

// Uses a first-order autoregression. The lag-1 correlation has a bias of -(1 + 4 r) / n (Marriott and Pope,
// Biometrika 41, 1954); `margin` is added to it, in standard errors.
double factor_of_first_lag(const Autocorrelation& series, double margin) {
  constexpr double most = 0.99;
  const double count = series.count();
  const double best = std::clamp((count * series.at(1) + 1) / (count - 4), -most, most);
  const double error = std::sqrt((1 - best * best) / count);
  const double correlation = std::clamp(best + margin * error, 0.0, most);
  const double end = (1 - std::pow(correlation, count)) / (count * (1 - correlation));
  return 1 + 2 * correlation / (1 - correlation) * (1 - end);
}

// Uses the sums of two successive autocorrelations, up to the first sum that is not positive (Geyer,
// Statistical Science 7, 1992). Each autocorrelation has a bias of -1 / n. The mean varies with the series,
// which hides a share of its variance; the divisor corrects this.
double factor_of_positive_lags(const Autocorrelation& series) {
  constexpr double least_left = 0.05;
  const double count = series.count();
  double factor = 1;
  for (std::size_t lag = 1; 2 * (lag + 1) <= static_cast<std::size_t>(count); lag += 2) {
    const double pair = series.at(lag) + series.at(lag + 1) + 2 / count;
    if (pair <= 0) break;
    factor += 2 * pair;
  }
  return factor / std::max(least_left, 1 - factor / count);
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  Numbers sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  MedianEstimate estimate{.median = median_of(sorted), .interval = {}};
  constexpr std::size_t fewest = 10;
  if (samples.size() < fewest) return estimate;
  double factor = 1;
  if (sorted.front() < sorted.back()) {
    const Autocorrelation ranks(ranks_of(samples, sorted));
    factor = std::max(factor_of_first_lag(ranks, 0), factor_of_positive_lags(ranks));
    if (const Numbers levels = levels_of(samples, sorted); !levels.empty()) {
      factor = std::max(factor, factor_of_first_lag(Autocorrelation(levels), margin_of_levels));
    }
  }
  estimate.effective = static_cast<double>(samples.size()) / factor;
  constexpr double normal_quantile = 1.959964;  // 97.5 % quantile
  const double half = std::min(0.5, normal_quantile / 2 / std::sqrt(estimate.effective));
  estimate.interval = {quantile_of_sorted(sorted, 0.5 - half), quantile_of_sorted(sorted, 0.5 + half)};
  return estimate;
}

}  // namespace openimb
