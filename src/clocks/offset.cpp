#include "clocks/offset.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace openimb {

namespace {

// Seconds per second. A clock that drifts more is broken; NTP slews by half of this.
constexpr double max_drift = 1e-3;
// The drift itself changes with temperature and with corrections by NTP.
constexpr double max_drift_change = 10e-6;
constexpr double change_per_second = 1e-8;  // change of the drift while NTP does not correct it
constexpr double max_history = 20;          // seconds over which the drift counts as constant
constexpr std::size_t max_bounds = 48;

// Returns the bounds of an earlier exchange, widened for use at time `now` because the drift changes.
OffsetBounds widened_by_age(const OffsetBounds& bounds, double now) {
  const double age = now - bounds.at;
  return bounds.widened(change_per_second * age * age / 2);
}

}  // namespace

void OffsetBounds::include(double sent, double other_received, double other_sent, double received) {
  // If a rank loses its CPU, an exchange may take so long that the offset has changed since the earlier ones.
  const double change = max_drift * std::max(0.0, received - at);
  at = received;
  lower = std::max(lower - change, sent - other_received);
  upper = std::min(upper + change, received - other_sent);
}

ClockMap ClockMap::then(const ClockMap& next) const {
  const double middle = (*this)(from);
  return {.from = from,
          .offset = offset + next.offset + next.drift * (middle - next.from),
          .drift = drift + next.drift * (1 - drift),
          .until = until,
          .bound = bound + next.bound_at((*this)(until)),
          .growth = growth + next.growth};
}

bool OffsetHistory::add(const OffsetBounds& bounds) {
  if (bounds.lower > bounds.upper) {  // a clock was set between two of the exchanges
    bounds_.assign(1, {bounds.at, bounds.upper, bounds.lower});
    return false;
  }
  if (!bounds_.empty()) {
    const double after = bounds.at - bounds_.back().at;
    const double change = max_drift_change * std::max(0.0, after);
    const std::optional<Range> expected = offsets_at(bounds.at);
    if (expected->lower - change > bounds.upper || bounds.lower > expected->upper + change) {
      bounds_.assign(1, bounds);
      return false;
    }
  }
  bounds_.push_back(bounds);
  // If no line fits all bounds, the drift has changed, so the oldest bounds are removed.
  while (bounds_.size() > 1 && (!drifts() || bounds.at - bounds_.front().at > max_history)) {
    bounds_.erase(bounds_.begin());
  }
  if (bounds_.size() > max_bounds) thin_out();
  return true;
}

// Removes every second entry of the older half. The first and the last bounds determine drift and offset.
void OffsetHistory::thin_out() {
  std::vector<OffsetBounds> kept;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (i >= bounds_.size() / 2 || i % 2 == 0) kept.push_back(bounds_[i]);
  }
  bounds_ = std::move(kept);
}

// The range of slopes of lines that violate no bound, or nothing if there is no such line. Each pair of
// bounds limits the slope; by Helly's theorem, checking all pairs is enough.
std::optional<OffsetHistory::Range> OffsetHistory::drifts() const {
  Range range{-max_drift, max_drift};
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const OffsetBounds before = widened_by_age(bounds_[i], bounds_.back().at);
    for (std::size_t k = i + 1; k < bounds_.size(); ++k) {
      const OffsetBounds after = widened_by_age(bounds_[k], bounds_.back().at);
      const double seconds = after.at - before.at;
      if (seconds > 0) {
        range.upper = std::min(range.upper, (after.upper - before.lower) / seconds);
        range.lower = std::max(range.lower, (after.lower - before.upper) / seconds);
      } else if (after.upper < before.lower || before.upper < after.lower) {
        return std::nullopt;
      }
    }
  }
  if (range.lower > range.upper) return std::nullopt;
  return range;
}

// The range of values at `time` of lines that violate no bound. A line is given by its value at `time` and
// its slope. Each bound at another time limits the slope from above and from below, depending on the value.
// The value reaches a limit where a lower and an upper limit of the slope are equal.
std::optional<OffsetHistory::Range> OffsetHistory::offsets_at(double time) const {
  struct Limit {
    double at_zero, per_offset;  // the slope is at_zero + per_offset * value
  };
  std::vector<Limit> lower{{-max_drift, 0}}, upper{{max_drift, 0}};
  Range range{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (const OffsetBounds& measured : bounds_) {
    const OffsetBounds bounds = widened_by_age(measured, bounds_.back().at);
    const double distance = bounds.at - time;
    if (distance == 0) {
      range.lower = std::max(range.lower, bounds.lower);
      range.upper = std::min(range.upper, bounds.upper);
      continue;
    }
    const Limit by_upper{bounds.upper / distance, -1 / distance},
        by_lower{bounds.lower / distance, -1 / distance};
    (distance > 0 ? upper : lower).push_back(by_upper);
    (distance > 0 ? lower : upper).push_back(by_lower);
  }
  for (const Limit& low : lower) {
    for (const Limit& high : upper) {
      const double per_offset = low.per_offset - high.per_offset, gap = high.at_zero - low.at_zero;
      if (per_offset > 0) range.upper = std::min(range.upper, gap / per_offset);
      if (per_offset < 0) range.lower = std::max(range.lower, gap / per_offset);
      if (per_offset == 0 && gap < 0) return std::nullopt;
    }
  }
  if (range.lower > range.upper) {
    // The bounds leave only one line, and rounding inverted the range.
    const double middle = (range.lower + range.upper) / 2;
    return Range{middle, middle};
  }
  return range;
}

// The width of the possible offsets is a convex function of time, so the error is largest at one of the ends.
ClockMap OffsetHistory::past_map() const {
  const ClockMap last = later_map();
  if (bounds_.size() < 2) return last;
  const double from = bounds_[bounds_.size() - 2].at, until = bounds_.back().at;
  const Range first = offsets_at(from).value(), second = offsets_at(until).value();
  if (!(until > from)) return last;
  ClockMap map{.from = from, .offset = (first.lower + first.upper) / 2, .until = until};
  map.drift = ((second.lower + second.upper) / 2 - map.offset) / (until - from);
  map.bound = std::max(first.upper - first.lower, second.upper - second.lower) / 2;
  map.growth = std::max(drifts()->upper - map.drift, map.drift - drifts()->lower);
  return map;
}

ClockMap OffsetHistory::later_map() const {
  const double from = bounds_.back().at;
  const Range now = offsets_at(from).value(), drift = drifts().value();
  return {.from = from,
          .offset = (now.lower + now.upper) / 2,
          .drift = (drift.lower + drift.upper) / 2,
          .until = from,
          .bound = (now.upper - now.lower) / 2,
          .growth = (drift.upper - drift.lower) / 2};
}

}  // namespace openimb
