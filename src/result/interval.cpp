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

// Standard errors that are added to a correlation: intervals with its best estimate are too short. At two
// levels most series have only a few changes. bench/passes.py shows the coverage that follows.
constexpr double margin_of_ranks = 0.1;
constexpr double margin_of_levels = 2;
// The samples lie at two levels if these explain so much of their variance, and have so many samples each.
// The best two levels of normal samples explain 0.64.
constexpr double least_explained = 0.9;
constexpr double least_group_share = 0.1;

// Equal samples (ties) get the mean of their ranks.
Numbers ranks_of(std::span<const double> samples, std::span<const double> sorted) {
  Numbers ranks;
  for (const double sample : samples) {
    const auto equal = std::ranges::equal_range(sorted, sample);
    ranks.push_back(static_cast<double>((equal.begin() - sorted.begin()) + (equal.end() - sorted.begin())));
  }
  return ranks;
}

// Which samples are at the upper of two levels (1, else 0); empty where the samples do not lie at two. The
// limit is the one with the largest variance between the levels (Otsu, IEEE SMC 9, 1979).
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

// The lag-1 correlation without its bias of -(1 + 4 r) / n (Marriott and Pope, Biometrika 41, 1954), and the
// margin added; from 0 to `most`.
double correlation_of(std::span<const double> values, double margin) {
  constexpr double most = 0.99;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
  }
  if (squares <= 0) return 0;
  const double correlation = std::clamp((count * products / squares + 1) / (count - 4), -most, most);
  const double error = std::sqrt((1 - correlation * correlation) / count);
  return std::clamp(correlation + margin * error, 0.0, most);
}

// Variance of a mean of `count` samples, as a multiple of that of independent ones.
double variance_factor(double correlation, double count) {
  const double end = (1 - std::pow(correlation, count)) / (count * (1 - correlation));
  return 1 + 2 * correlation / (1 - correlation) * (1 - end);
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  Numbers sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  MedianEstimate estimate{.median = median_of(sorted), .interval = {}};
  constexpr std::size_t fewest = 10;
  if (samples.size() < fewest) return estimate;
  double correlation = correlation_of(ranks_of(samples, sorted), margin_of_ranks);
  if (const Numbers levels = levels_of(samples, sorted); !levels.empty()) {
    correlation = std::max(correlation, correlation_of(levels, margin_of_levels));
  }
  const auto count = static_cast<double>(samples.size());
  estimate.effective = count / variance_factor(correlation, count);
  constexpr double normal_quantile = 1.959964;  // of 97.5 %
  const double half = std::min(0.5, normal_quantile / 2 / std::sqrt(estimate.effective));
  estimate.interval = {quantile_of_sorted(sorted, 0.5 - half), quantile_of_sorted(sorted, 0.5 + half)};
  return estimate;
}

}  // namespace openimb
