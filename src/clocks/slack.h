// The slack: seconds from the arrival of the last rank to the agreed start. It adapts to the usual time that
// an agreement takes. It grows by half when a rank was late, up to a limit, because more slack does not help
// a rank that lost its CPU. After some repetitions without a late rank it shrinks, but not below twice the
// usual time, because less slack would itself make ranks late. Source: mpix-harmonize (Schuchart, Hunold and
// Bosilca, EuroMPI 2023).
#pragma once

#include <algorithm>

namespace openimb {

/// The slack of a gate.
class Slack {
 public:
  double seconds() const { return seconds_; }
  /// To be called after each agreement, with equal arguments on all ranks. `needed`: seconds that the
  /// previous agreement took after the arrival of the last rank. `late`: whether any rank was late for the
  /// previous start.
  void observe(double needed, bool late) {
    constexpr double min_usual = 0.5e-6, min_factor = 2, max_factor = 8, growth = 1.5, shrinking = 0.9;
    constexpr int patience = 16;
    if (needed > 0) track(needed);
    const double usual = std::max(usual_, min_usual);
    if (late) {
      seconds_ *= growth;
      in_time_ = 0;
    } else if (++in_time_ >= patience) {
      seconds_ *= shrinking;
    }
    seconds_ = std::clamp(seconds_, min_factor * usual, max_factor * usual);
  }

 private:
  // Tracks a low quantile (about a fifth) of the times, because disturbances only make them longer.
  void track(double needed) {
    constexpr double up = 1.05, down = 0.8;
    if (usual_ <= 0) {
      usual_ = needed;
    } else {
      usual_ = needed > usual_ ? std::min(needed, up * usual_) : std::max(needed, down * usual_);
    }
  }

  double usual_ = 0;
  double seconds_ = 0;
  int in_time_ = 0;
};

}  // namespace openimb
