// The interval of a median: where it lies, and how often it holds the median of what samples are drawn from.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "chance.h"
#include "result/interval.h"
#include "result/quantile.h"

using namespace openimb;

namespace {

/// Normal, with this autocorrelation from one to the next; median 0.
std::vector<double> series(Chance& chance, int count, double following) {
  std::vector<double> found;
  double value = chance.normal();
  for (int i = 0; i < count; ++i) {
    found.push_back(value);
    value = following * value + std::sqrt(1 - following * following) * chance.normal();
  }
  return found;
}

/// Percent of those that have an interval.
double coverage(int count, double following) {
  Chance chance(1);
  int with = 0, holds = 0;
  for (int i = 0; i < 400; ++i) {
    const MedianEstimate found = estimate_median(series(chance, count, following));
    if (!found.interval) continue;
    ++with;
    if (found.interval->low <= 0 && 0 <= found.interval->high) ++holds;
  }
  REQUIRE(with > 200);
  return 100.0 * holds / with;
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
  for (const int count : {1, 2, 3, 5}) {
    CHECK_FALSE(estimate_median(std::vector<double>(static_cast<std::size_t>(count), 1.0)).interval);
  }
}

TEST_CASE("a slow change leaves few effective samples") {
  std::vector<double> rising(100);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  CHECK(estimate_median(rising).effective < 10);
}

TEST_CASE("19 of 20 intervals hold the median") {
  for (const int count : {20, 60, 150}) CHECK(std::abs(coverage(count, 0) - 96.5) <= 2.5);
  CHECK(std::abs(coverage(60, 0.3) - 95) <= 3);
  CHECK(std::abs(coverage(150, 0.6) - 95) <= 3);
}
