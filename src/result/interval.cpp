#include "result/interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "result/quantile.h"

namespace openimb {

namespace {

// Autocorrelation of signs about zero at this lag. In short series the estimate is too small by some
// (1 + 3 rho) / n (Kendall, Biometrika 41, 1954).
double autocorrelation(std::span<const double> signs, std::size_t lag) {
  const std::size_t pairs = signs.size() - lag;
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < pairs; ++i) products += signs[i] * signs[i + lag];
  for (const double sign : signs) squares += sign * sign;
  if (squares == 0) return 0;
  const auto n = static_cast<double>(signs.size());
  const double found = products / static_cast<double>(pairs) / (squares / n);
  return found + (1 + 3 * std::max(0.0, found)) / n;
}

double effective_number(std::span<const double> samples, double median) {
  std::vector<double> signs;
  for (const double sample : samples) {
    signs.push_back(sample > median ? 1 : sample < median ? -1 : 0);
  }
  double sum = 1;
  const std::size_t longest = signs.size() / 3;
  for (std::size_t lag = 1; lag + 1 <= longest; lag += 2) {
    const double pair = autocorrelation(signs, lag) + autocorrelation(signs, lag + 1);
    if (pair <= 0) break;
    sum += 2 * pair;
  }
  return static_cast<double>(samples.size()) / sum;
}

// The 97.5 % point of Student's t: Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5).
double student(double degrees) {
  constexpr double x = 1.959964;
  const double g1 = (std::pow(x, 3) + x) / 4;
  const double g2 = (5 * std::pow(x, 5) + 16 * std::pow(x, 3) + 3 * x) / 96;
  const double g3 = (3 * std::pow(x, 7) + 19 * std::pow(x, 5) + 17 * std::pow(x, 3) - 15 * x) / 384;
  return x + g1 / degrees + g2 / std::pow(degrees, 2) + g3 / std::pow(degrees, 3);
}

}  // namespace

MedianEstimate estimate_median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  MedianEstimate found{.median = median_of(sorted), .interval = {}};
  found.effective = effective_number(samples, found.median);
  constexpr double fewest = 4;
  if (found.effective < fewest) return found;
  const double half = student(found.effective - 1) * 0.5 / std::sqrt(found.effective);
  const double outermost = 0.5 / static_cast<double>(samples.size());
  if (0.5 - half < outermost) return found;
  std::ranges::sort(sorted);
  found.interval = {quantile_of_sorted(sorted, 0.5 - half), quantile_of_sorted(sorted, 0.5 + half)};
  return found;
}

}  // namespace openimb
