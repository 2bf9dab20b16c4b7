#include "result/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

#include "result/quantile.h"

namespace openimb {

namespace {

/// Autocorrelation of the samples at lag > 0: share * coefficient^lag.
struct Correlation {
  double coefficient = 0;
  double share = 1;
  double weight = 0;
};

// Prior weights: a quarter for independence; all others are equally likely.
std::vector<Correlation> possible_correlations() {
  constexpr double coefficients[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
  constexpr double shares[] = {1, 2.0 / 3, 1.0 / 3};
  constexpr double independent = 0.25;
  constexpr double weight = (1 - independent) / (std::size(coefficients) * std::size(shares));
  std::vector<Correlation> correlations{{.weight = independent}};
  for (const double coefficient : coefficients) {
    for (const double share : shares) correlations.push_back({coefficient, share, weight});
  }
  return correlations;
}

// Centered ranks; equal samples (ties) get the mean of their ranks.
std::vector<double> ranks_of(std::span<const double> samples, std::span<const double> sorted) {
  std::vector<double> ranks;
  for (const double sample : samples) {
    const auto equal = std::ranges::equal_range(sorted, sample);
    const auto below = static_cast<double>(equal.begin() - sorted.begin());
    const auto up_to = static_cast<double>(equal.end() - sorted.begin());
    ranks.push_back((below + up_to - static_cast<double>(sorted.size())) / 2);
  }
  return ranks;
}

// The restricted log likelihood of values with unknown mean and variance. A Kalman filter forecasts the
// values and their mean.
double log_likelihood(std::span<const double> values, const Correlation& correlation) {
  const double share = correlation.share, coefficient = correlation.coefficient;
  double state_variance = share, forecast = 0, mean_forecast = 0;
  double logarithms = 0, squares = 0, products = 0, mean_squares = 0;
  for (const double value : values) {
    const double variance = state_variance + 1 - share;
    const double error = value - forecast, mean_error = 1 - mean_forecast;
    logarithms += std::log(variance);
    squares += error * error / variance;
    products += error * mean_error / variance;
    mean_squares += mean_error * mean_error / variance;
    const double gain = state_variance / variance;
    forecast = coefficient * (forecast + gain * error);
    mean_forecast = coefficient * (mean_forecast + gain * mean_error);
    state_variance =
        coefficient * coefficient * state_variance * (1 - gain) + share * (1 - coefficient * coefficient);
  }
  const double residual = squares - products * products / mean_squares;
  const auto degrees = static_cast<double>(values.size() - 1);
  return -(logarithms + std::log(mean_squares) + degrees * std::log(residual)) / 2;
}

std::vector<Correlation> weighted_correlations(std::span<const double> ranks) {
  if (std::ranges::all_of(ranks, [](double rank) { return rank == 0; })) return {{.weight = 1}};
  std::vector<Correlation> correlations = possible_correlations();
  std::vector<double> logarithms(correlations.size());
  std::ranges::transform(correlations, logarithms.begin(), [ranks](const Correlation& correlation) {
    return log_likelihood(ranks, correlation);
  });
  const double largest = std::ranges::max(logarithms);
  double sum = 0;
  for (std::size_t i = 0; i < correlations.size(); ++i) {
    correlations[i].weight *= std::exp(logarithms[i] - largest);
    sum += correlations[i].weight;
  }
  for (Correlation& correlation : correlations) correlation.weight /= sum;
  return correlations;
}

// Variance of a mean of `count` samples, as a multiple of that of one.
double variance_of_mean(const Correlation& correlation, double count) {
  const double coefficient = correlation.coefficient;
  const double end = (1 - std::pow(coefficient, count)) / (count * (1 - coefficient));
  return (1 + 2 * correlation.share * coefficient / (1 - coefficient) * (1 - end)) / count;
}

// By bisection, the point between `low` and `high` from which on `is_below` is false.
template <class Predicate>
double boundary(double low, double high, Predicate is_below) {
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return high;
}

// Half width of the 95 % interval of the share of samples below the median, around one half.
double half_width_of_share(std::span<const double> ranks) {
  const std::vector<Correlation> correlations = weighted_correlations(ranks);
  const auto count = static_cast<double>(ranks.size());
  std::vector<double> variances(correlations.size());
  std::ranges::transform(correlations, variances.begin(), [count](const Correlation& correlation) {
    return variance_of_mean(correlation, count) / 4;
  });
  return boundary(0, 1, [&](double half) {
    double beyond = 0;
    for (std::size_t i = 0; i < variances.size(); ++i) {
      beyond += correlations[i].weight * std::erfc(half / std::sqrt(2 * variances[i]));
    }
    return beyond > 0.05;
  });
}

// The 97.5 % point of Student's t: Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5).
double student(double degrees) {
  constexpr double x = 1.959964;
  const double g1 = (std::pow(x, 3) + x) / 4;
  const double g2 = (5 * std::pow(x, 5) + 16 * std::pow(x, 3) + 3 * x) / 96;
  const double g3 = (3 * std::pow(x, 7) + 19 * std::pow(x, 5) + 17 * std::pow(x, 3) - 15 * x) / 384;
  return x + g1 / degrees + g2 / std::pow(degrees, 2) + g3 / std::pow(degrees, 3);
}

// The number of independent samples, at most `count`, that have as wide an interval.
double effective_number(double half, double count) {
  return boundary(2, count,
                  [half](double number) { return student(number - 1) / 2 / std::sqrt(number) > half; });
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double half = half_width_of_share(ranks_of(samples, sorted));
  MedianEstimate estimate{.median = median_of(sorted),
                          .interval = {},
                          .effective = effective_number(half, static_cast<double>(samples.size()))};
  constexpr std::size_t fewest = 10;
  if (samples.size() < fewest) return estimate;
  estimate.interval = {quantile_of_sorted(sorted, std::max(0.0, 0.5 - half)),
                       quantile_of_sorted(sorted, std::min(1.0, 0.5 + half))};
  return estimate;
}

}  // namespace openimb
