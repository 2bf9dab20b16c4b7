#include "result/arrivals.h"

#include <algorithm>

#include "result/quantile.h"

namespace openimb {

namespace {

constexpr bool is_valid(double late) { return !(late > 0); }

}  // namespace

std::size_t ArrivalSeries::valid() const {
  return static_cast<std::size_t>(std::ranges::count_if(late, is_valid));
}

std::vector<double> ArrivalSeries::valid_values(const std::vector<double>& values) const {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_valid(late[i])) kept.push_back(values[i]);
  }
  return kept;
}

std::vector<double> ArrivalSeries::times_from_last() const {
  std::vector<double> seconds = last_exit;
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] -= last_arrival[i];
  return valid_values(seconds);
}

double median_difference(const ArrivalSeries& series, const std::vector<double>& a,
                         const std::vector<double>& b) {
  std::vector<double> seconds = a;
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] -= b[i];
  seconds = series.valid_values(seconds);
  return seconds.empty() ? GroupArrivals::none : median_of(std::move(seconds));
}

GroupArrivals summarize_arrivals(const ArrivalSeries& series) {
  GroupArrivals figures;
  if (series.size() == 0) return figures;
  figures.from_last = median_difference(series, series.last_exit, series.last_arrival);
  figures.from_first = median_difference(series, series.last_exit, series.first_arrival);
  figures.start_skew = median_difference(series, series.last_arrival, series.first_arrival);
  figures.exit_skew = median_difference(series, series.last_exit, series.first_exit);
  figures.valid_percent = 100 * static_cast<double>(series.valid()) / static_cast<double>(series.size());
  return figures;
}

}  // namespace openimb
