// The offset between two clocks, from exchanges. An exchange bounds it, whatever the noise: a message is sent
// before it is received. Clocks drift by a constant rate over a session, so that the offset is a line in
// time, and any line that violates no bound is possible. Estimates lie in the middle of what is possible;
// half of its width is their bound. Sources: SKaMPI (Worsch, Reussner and Augustin, EuroPVM/MPI 2002);
// hierarchy: Hunold and Carpen-Amarie, CLUSTER 2018.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace openimb {

/// What exchanges at one time show: the offset, own clock - other clock, at the time `at` of the own clock.
/// Seconds.
struct OffsetBounds {
  double at = 0;
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  double width() const { return most - least; }
  /// An exchange: sent and received by the own clock, the answer's stamps by the other one.
  void include(double sent, double other_received, double other_sent, double received);
  /// Clocks advance in ticks: two readings differ from the truth by up to a tick each.
  OffsetBounds widened(double ticks) const { return {at, least - ticks, most + ticks}; }
};

/// Maps times of one clock to times of another one: time - (offset + drift * (time - from)). `bound`: the
/// largest error up to the time `until`; after that it grows by `growth` per second. All members are times of
/// the clock that is mapped.
struct ClockMap {
  double from = 0;
  double offset = 0;
  double drift = 0;
  double until = 0;
  double bound = 0;
  double growth = 0;

  double operator()(double time) const { return time - (offset + drift * (time - from)); }
  /// The time that is mapped to `mapped`.
  double inverse(double mapped) const { return from + (mapped - from + offset) / (1 - drift); }
  double bound_at(double time) const { return bound + growth * (time > until ? time - until : 0); }
  /// This map, and then `next`.
  ClockMap then(const ClockMap& next) const;
};

/// The bounds of one pair of clocks in the order of time.
class OffsetHistory {
 public:
  /// False where they contradict the history: one of the clocks was set. The history then begins with them.
  bool add(const OffsetBounds& bounds);
  bool empty() const { return bounds_.empty(); }
  /// From the last two times of exchanges: valid between them.
  ClockMap past_map() const;
  /// From the last exchanges on.
  ClockMap later_map() const;

 private:
  struct Range {
    double least = 0, most = 0;
  };
  std::optional<Range> drifts() const;
  std::optional<Range> offsets_at(double time) const;
  void forget_some();

  std::vector<OffsetBounds> bounds_;
};

}  // namespace openimb
