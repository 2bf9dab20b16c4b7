#include "result/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "result/quantile.h"

namespace openimb {

namespace {

using Numbers = std::vector<double>;

constexpr double normal_quantile = 1.959964;  // 97.5 % quantile
constexpr std::size_t fewest = 10;            // samples that have an interval, which is their range

/// Autocorrelations of a series whose values are not all equal, with the bias that the estimated mean causes.
class Autocorrelation {
 public:
  /// `centered`: deviations from the mean.
  explicit Autocorrelation(const Numbers& centered) : centered_(centered), squares_(sum_of_products(0)) {}
  std::size_t count() const { return centered_.size(); }
  double at(std::size_t lag) const { return sum_of_products(lag) / squares_; }

 private:
  double sum_of_products(std::size_t lag) const {
    const auto shift = static_cast<std::ptrdiff_t>(lag);
    return std::inner_product(centered_.begin(), centered_.end() - shift, centered_.begin() + shift, 0.0);
  }

  const Numbers& centered_;
  double squares_;
};

// Writes the ranks of the samples, up to a factor of 2. Equal samples (ties) get the mean of their ranks.
void set_ranks(std::span<const double> samples, std::span<const double> sorted, Numbers& centered) {
  const auto count = static_cast<std::ptrdiff_t>(sorted.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto equal = std::ranges::equal_range(sorted, samples[i]);
    centered[i] =
        static_cast<double>((equal.begin() - sorted.begin()) + (equal.end() - sorted.begin()) - count);
  }
}

// Writes which samples are above `value`.
void set_signs(std::span<const double> samples, double value, double share_above, Numbers& centered) {
  for (std::size_t i = 0; i < samples.size(); ++i) centered[i] = (samples[i] > value ? 1 : 0) - share_above;
}

// Returns the variance of the share of samples below a value, as a multiple of the variance of independent
// samples: from the sums of two successive autocorrelations of the signs, up to the first sum that is not
// above `least`. `sign_correlation` turns an autocorrelation of the series into one of the signs. The mean
// varies with the series, which hides a share of its variance; the divisor corrects this.
template <class Function>
double variance_factor(const Autocorrelation& series, double least, Function sign_correlation) {
  constexpr double least_left = 0.05;
  double excess = 0;
  for (std::size_t lag = 1; 2 * (lag + 1) <= series.count(); lag += 2) {
    const double first = series.at(lag), second = series.at(lag + 1);
    if (first + second <= least) break;
    excess += 2 * (sign_correlation(first) + sign_correlation(second));
  }
  return (1 + excess) / std::max(least_left, 1 - excess / static_cast<double>(series.count()));
}

// If samples are normal and their ranks have a correlation of r, their signs have 2/pi asin(r). Estimates of
// r are too small because the mean is also estimated: by 1 / n if samples are independent (Moran, Biometrika
// 35, 1948; for others Kendall, Biometrika 41, 1954). In short series this hides levels that last long.
double variance_factor_of_ranks(const Numbers& ranks) {
  const double bias = 1 / static_cast<double>(ranks.size());
  return variance_factor(Autocorrelation(ranks), -2 * bias, [bias](double correlation) {
    return 2 / std::numbers::pi * std::asin(std::clamp(correlation + bias, -1.0, 1.0));
  });
}

// The signs at an outer value vary more from series to series than ranks, so a sum counts only if it is above
// half its standard error.
double variance_factor_of_signs(const Numbers& signs) {
  const double least = 0.5 * std::sqrt(2 / static_cast<double>(signs.size()));
  return variance_factor(Autocorrelation(signs), least, std::identity());
}

// Returns the 97.5 % quantile of Student's t: Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5), which
// for one degree of freedom is a quarter too small. Such intervals are the range of the samples anyway.
double student_quantile(double degrees) {
  constexpr double x = normal_quantile;
  constexpr double x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x;
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  return x + (x3 + x) / 4 / degrees + (5 * x5 + 16 * x3 + 3 * x) / 96 / (degrees * degrees) +
         (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / 384 / (degrees * degrees * degrees);
}

// Returns how far the share of samples below the median may be from one half: 0.5 for the range of all.
double half_width(double factor, double count) {
  constexpr double degrees_per_sample = 0.12, enough = 20;
  const double quantile =
      factor > 1 ? student_quantile(degrees_per_sample * count / (factor - 1)) : normal_quantile;
  const double half = std::min(0.5, quantile / 2 * std::sqrt(factor / (count + 2)));
  const double missing = std::max(0.0, enough - count) / (enough - fewest);
  return half + (0.5 - half) * missing * missing;
}

// Returns the half width on one side of the median: up to the outermost value that the test does not reject.
// `half` is the least.
double half_width_of_side(bool upper, double half, std::span<const double> samples,
                          std::span<const double> sorted, Numbers& centered) {
  constexpr std::size_t values = 40;
  const auto count = static_cast<double>(samples.size());
  const std::size_t step = std::max<std::size_t>(1, samples.size() / values);
  for (std::size_t outside = 1; outside <= samples.size() / 2; outside += step) {
    const double distance = 0.5 - static_cast<double>(outside) / count;
    if (distance <= half - 0.5 / count) break;
    const std::size_t below = upper ? samples.size() - outside : outside;
    if (sorted[below - 1] == sorted[below]) continue;
    set_signs(samples, sorted[below - 1], 1 - static_cast<double>(below) / count, centered);
    const double accepted = half_width(variance_factor_of_signs(centered), count);
    if (distance <= accepted)
      return std::max(half, std::min(accepted, distance + 0.5 * static_cast<double>(step) / count));
  }
  return half;
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  Numbers sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  MedianEstimate estimate{.median = median_of(sorted), .interval = {}};
  if (samples.size() < fewest) return estimate;
  const auto count = static_cast<double>(samples.size());
  estimate.effective = count;
  estimate.interval = {sorted.front(), sorted.back()};
  if (sorted.front() == sorted.back()) return estimate;
  Numbers centered(samples.size());
  set_ranks(samples, sorted, centered);
  const double half = half_width(variance_factor_of_ranks(centered), count);
  const double lower = half_width_of_side(false, half, samples, sorted, centered);
  const double upper = half_width_of_side(true, half, samples, sorted, centered);
  estimate.interval = {quantile_of_sorted(sorted, 0.5 - lower), quantile_of_sorted(sorted, 0.5 + upper)};
  const double ratio = 2 * half_width(1, count) / (lower + upper);
  estimate.effective = count * ratio * ratio;
  return estimate;
}

}  // namespace openimb
