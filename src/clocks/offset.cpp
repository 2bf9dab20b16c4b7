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
constexpr std::size_t max_kept = 48;

// Bounds of an earlier exchange, widened for use at time `now`, because the drift changes.
OffsetBounds widened_by_age(const OffsetBounds& bounds, double now) {
  const double age = now - bounds.at;
  return bounds.widened(change_per_second * age * age / 2);
}

}  // namespace

void OffsetBounds::include(double sent, double other_received, double other_sent, double received) {
  // A rank that loses its CPU may take long, so that the offset of the exchanges before has changed.
  const double change = max_drift * std::max(0.0, received - at);
  at = received;
  least = std::max(least - change, sent - other_received);
  most = std::min(most + change, received - other_sent);
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
  if (bounds.least > bounds.most) {  // a clock was set between two of the exchanges
    bounds_.assign(1, {bounds.at, bounds.most, bounds.least});
    return false;
  }
  if (!bounds_.empty()) {
    const double after = bounds.at - bounds_.back().at;
    const double change = max_drift_change * std::max(0.0, after);
    const std::optional<Range> expected = offsets_at(bounds.at);
    if (expected->least - change > bounds.most || bounds.least > expected->most + change) {
      bounds_.assign(1, bounds);
      return false;
    }
  }
  bounds_.push_back(bounds);
  // If no line fits all bounds, the drift has changed, so the oldest bounds go.
  while (bounds_.size() > 1 && (!drifts() || bounds.at - bounds_.front().at > max_history)) {
    bounds_.erase(bounds_.begin());
  }
  if (bounds_.size() > max_kept) forget_some();
  return true;
}

// Forgets every second one of the older half. The first and the last bounds determine drift and offset.
void OffsetHistory::forget_some() {
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
        range.most = std::min(range.most, (after.most - before.least) / seconds);
        range.least = std::max(range.least, (after.least - before.most) / seconds);
      } else if (after.most < before.least || before.most < after.least) {
        return std::nullopt;
      }
    }
  }
  if (range.least > range.most) return std::nullopt;
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
      range.least = std::max(range.least, bounds.least);
      range.most = std::min(range.most, bounds.most);
      continue;
    }
    const Limit by_most{bounds.most / distance, -1 / distance},
        by_least{bounds.least / distance, -1 / distance};
    (distance > 0 ? upper : lower).push_back(by_most);
    (distance > 0 ? lower : upper).push_back(by_least);
  }
  for (const Limit& low : lower) {
    for (const Limit& high : upper) {
      const double per_offset = low.per_offset - high.per_offset, gap = high.at_zero - low.at_zero;
      if (per_offset > 0) range.most = std::min(range.most, gap / per_offset);
      if (per_offset < 0) range.least = std::max(range.least, gap / per_offset);
      if (per_offset == 0 && gap < 0) return std::nullopt;
    }
  }
  if (range.least > range.most) {
    // The bounds leave only one line, and rounding inverted the range.
    const double middle = (range.least + range.most) / 2;
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
  ClockMap map{.from = from, .offset = (first.least + first.most) / 2, .until = until};
  map.drift = ((second.least + second.most) / 2 - map.offset) / (until - from);
  map.bound = std::max(first.most - first.least, second.most - second.least) / 2;
  map.growth = std::max(drifts()->most - map.drift, map.drift - drifts()->least);
  return map;
}

ClockMap OffsetHistory::later_map() const {
  const double from = bounds_.back().at;
  const Range now = offsets_at(from).value(), drift = drifts().value();
  return {.from = from,
          .offset = (now.least + now.most) / 2,
          .drift = (drift.least + drift.most) / 2,
          .until = from,
          .bound = (now.most - now.least) / 2,
          .growth = (drift.most - drift.least) / 2};
}

}  // namespace openimb
