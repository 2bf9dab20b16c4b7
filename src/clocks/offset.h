// The offset between two clocks, estimated from exchanges of messages. Because a message is sent before it is
// received, an exchange bounds the offset, whatever the noise. Clocks drift at a constant rate over a
// session, so the offset is a line over time, and every line that violates no bound is possible. An estimate
// lies in the middle of the possible range; half of the range is its error bound. Sources: SKaMPI (Worsch,
// Reussner and Augustin, EuroPVM/MPI 2002); for the hierarchy, Hunold and Carpen-Amarie, CLUSTER 2018.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace openimb {

/// Bounds, in seconds, of the offset (own clock minus other clock) at the time `at` of the own clock, from
/// exchanges that end at that time.
struct OffsetBounds {
  double at = 0;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();

  double width() const { return upper - lower; }
  /// Widens the bounds by the drift since the previous exchange, then narrows them by this one. `sent`,
  /// `received`: own clock. `other_received`, `other_sent`: other clock.
  void include(double sent, double other_received, double other_sent, double received);
  /// Wider bounds: clocks advance in ticks, so a reading may be wrong by a tick.
  OffsetBounds widened(double ticks) const { return {at, lower - ticks, upper + ticks}; }
};

/// Maps a time of one clock to the time of another clock: time - (offset + drift * (time - from)), in
/// seconds. `bound`: the largest error up to the time `until`; after that it grows by `growth` per second.
/// `from` and `until` are times of the mapped clock.
struct ClockMap {
  double from = 0;
  double offset = 0;
  double drift = 0;
  double until = 0;
  double bound = 0;
  double growth = 0;

  double operator()(double time) const { return time - (offset + drift * (time - from)); }
  /// The time that this map maps to `mapped`.
  double inverse(double mapped) const { return from + (mapped - from + offset) / (1 - drift); }
  double bound_at(double time) const { return bound + growth * (time > until ? time - until : 0); }
  /// The composition: this map, then `next`.
  ClockMap then(const ClockMap& next) const;
};

/// The bounds of one pair of clocks in the order of time.
class OffsetHistory {
 public:
  /// Adds bounds. Returns false if they contradict the history or themselves, because one of the clocks was
  /// set; the history then starts over with these bounds.
  bool add(const OffsetBounds& bounds);
  bool empty() const { return bounds_.empty(); }
  /// The map between the last two times of exchanges.
  ClockMap past_map() const;
  /// The map from the last exchanges on.
  ClockMap later_map() const;

 private:
  struct Range {
    double lower = 0, upper = 0;
  };
  /// Drifts and offsets that violate no bound.
  std::optional<Range> drifts() const;
  std::optional<Range> offsets_at(double time) const;
  void thin_out();

  std::vector<OffsetBounds> bounds_;
};

}  // namespace openimb
