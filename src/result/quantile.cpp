#include "result/quantile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace openimb {

double quantile_of_sorted(std::span<const double> sorted, double p) {
  const auto last = static_cast<double>(sorted.size() - 1);
  const double position = std::clamp(p * (last + 1) - 0.5, 0.0, last);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - std::floor(position);
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

double median_of(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

}  // namespace openimb
