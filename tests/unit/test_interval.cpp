// The interval of a median: where it lies, and how often it holds the median of what samples are drawn from.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "chance.h"
#include "result/interval.h"
#include "result/quantile.h"

using namespace openimb;

namespace {

/// Normal, with this autocorrelation from one to the next; median 0.
std::vector<double> series(RandomNumbers& chance, int count, double following) {
  std::vector<double> found;
  double value = chance.normal();
  for (int i = 0; i < count; ++i) {
    found.push_back(value);
    value = following * value + std::sqrt(1 - following * following) * chance.normal();
  }
  return found;
}

/// At one of two levels, on which it stays for 17 samples in the mean; median 0.
std::vector<double> two_levels(RandomNumbers& chance, int count) {
  constexpr double upper_share = 0.55, leave = 0.12;
  constexpr double normal_quantile = -1.3352;  // of 1 / 11: the share of the upper samples below the median
  std::vector<double> samples;
  bool upper = chance.uniform() < upper_share;
  for (int i = 0; i < count; ++i) {
    samples.push_back(upper ? chance.normal() - normal_quantile : chance.normal() - 15);
    if (chance.uniform() < leave) upper = chance.uniform() < upper_share;
  }
  return samples;
}

/// With a level that changes after 16 samples in the mean, among noise of the same size; median 0.
std::vector<double> changing_levels(RandomNumbers& chance, int count) {
  constexpr double change = 1.0 / 16;
  std::vector<double> samples;
  double level = chance.normal();
  for (int i = 0; i < count; ++i) {
    samples.push_back(level + chance.normal());
    if (chance.uniform() < change) level = chance.normal();
  }
  return samples;
}

/// Percent of intervals that contain the true median, 0.
template <class Series>
double coverage(Series series) {
  RandomNumbers chance(1);
  int holds = 0;
  constexpr int all = 1000;
  for (int i = 0; i < all; ++i) {
    const MedianEstimate estimate = estimate_median(series(chance));
    REQUIRE(estimate.interval);
    if (estimate.interval->low <= 0 && 0 <= estimate.interval->high) ++holds;
  }
  return 100.0 * holds / all;
}

double coverage(int count, double following) {
  return coverage([&](RandomNumbers& chance) { return series(chance, count, following); });
}

}  // namespace

TEST_CASE("quantiles between order statistics") {
  const std::vector<double> sorted{1, 2, 3, 4};
  CHECK(quantile_of_sorted(sorted, 0.5) == 2.5);
  CHECK(quantile_of_sorted(sorted, 0.125) == 1);
  CHECK(quantile_of_sorted(sorted, 0) == 1);
  CHECK(quantile_of_sorted(sorted, 1) == 4);
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 2, 3}) == 2.5);
  CHECK(median_of({7}) == 7);
}

TEST_CASE("equal samples have an interval of width 0") {
  const MedianEstimate found = estimate_median(std::vector<double>(30, 5.0));
  CHECK(found.median == 5);
  CHECK(found.effective == 30);
  REQUIRE(found.interval);
  CHECK(found.interval->low == 5);
  CHECK(found.interval->high == 5);
}

TEST_CASE("few samples have no interval") {
  for (const int count : {1, 2, 3, 9}) {
    const MedianEstimate estimate =
        estimate_median(std::vector<double>(static_cast<std::size_t>(count), 1.0));
    CHECK_FALSE(estimate.interval);
    CHECK(std::isnan(estimate.effective));
  }
}

TEST_CASE("ten samples have their range as interval") {
  RandomNumbers chance(2);
  const std::vector<double> samples = series(chance, 10, 0);
  const MedianEstimate found = estimate_median(samples);
  CHECK(found.effective == 10);
  REQUIRE(found.interval);
  CHECK(found.interval->low == *std::ranges::min_element(samples));
  CHECK(found.interval->high == *std::ranges::max_element(samples));
}

TEST_CASE("a slow change leaves few effective samples, and their range") {
  std::vector<double> rising(30);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  const MedianEstimate found = estimate_median(rising);
  CHECK(found.effective < 10);
  REQUIRE(found.interval);
  CHECK(found.interval->low == 0);
  CHECK(found.interval->high == 29);
}

TEST_CASE("an interval does not depend on the unit") {
  RandomNumbers chance(3);
  std::vector<double> samples = series(chance, 40, 0.5);
  const Interval found = *estimate_median(samples).interval;
  for (double& sample : samples) sample = 1024 * sample + 4096;
  const Interval scaled = *estimate_median(samples).interval;
  CHECK(std::abs(scaled.low - (1024 * found.low + 4096)) < 1e-9);
  CHECK(std::abs(scaled.high - (1024 * found.high + 4096)) < 1e-9);
}

// 95 % of 1000 intervals: 1.5 % are two standard errors.
TEST_CASE("19 of 20 intervals contain the median") {
  for (const int count : {20, 80, 320}) {
    for (const double following : {0.0, 0.3, 0.6})
      CHECK(coverage(count, following) == Approx(95).margin(3.5));
    CHECK(coverage([&](RandomNumbers& chance) {
            std::vector<double> skewed(static_cast<std::size_t>(count));
            for (double& sample : skewed) sample = chance.exponential() - std::log(2);
            return skewed;
          }) == Approx(95).margin(3.5));
  }
  CHECK(coverage(10, 0.6) >= 91);
  CHECK(coverage(80, 0.9) >= 94);
}

// Two thirds of the variance are noise between samples. By the lag-1 correlation alone it would be 75 %.
TEST_CASE("intervals allow for a correlation that noise hides") {
  CHECK(coverage([](RandomNumbers& chance) {
          std::vector<double> samples = series(chance, 160, 0.9);
          for (double& sample : samples) sample += std::sqrt(2) * chance.normal();
          return samples;
        }) >= 89);
}

// By the correlation of ranks it would be 68 % and 72 % at 80 and 160 samples. More than half of the series
// of 10 samples lie at one level.
TEST_CASE("intervals of samples at two levels allow for how long each lasts") {
  CHECK(coverage([](RandomNumbers& chance) { return two_levels(chance, 10); }) >= 58);
  CHECK(coverage([](RandomNumbers& chance) { return two_levels(chance, 20); }) >= 60);
  CHECK(coverage([](RandomNumbers& chance) { return two_levels(chance, 40); }) >= 79);
  CHECK(coverage([](RandomNumbers& chance) { return two_levels(chance, 80); }) >= 92);
  CHECK(coverage([](RandomNumbers& chance) { return two_levels(chance, 160); }) >= 95);
}

// The mean of the samples hides most of the correlation. If its bias is not corrected, coverage is 76.3 %.
TEST_CASE("intervals allow for levels that last nearly as long as the series") {
  CHECK(coverage([](RandomNumbers& chance) { return changing_levels(chance, 20); }) >= 77.5);
}
