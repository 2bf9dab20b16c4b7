// How long before an agreed start the ranks agree on it. It follows how long agreeing takes while all ranks
// have their CPUs: it grows by half when a rank was late, up to a limit, as waiting longer does not help a
// rank whose CPU is taken away; it shrinks, after a while without one, to twice the usual time. A slack
// without that floor would make ranks late by itself. Source: mpix-harmonize (Schuchart, Hunold and Bosilca,
// EuroMPI 2023).
#pragma once

#include <algorithm>

namespace openimb {

class Slack {
 public:
  double seconds() const { return seconds_; }
  /// After each agreement, equal on all ranks: how long it took from the arrival of the last rank on, and
  /// whether any rank was late for the start before.
  void observe(double needed, bool late) {
    constexpr double shortest = 0.5e-6, least = 2, most = 8, growth = 1.5, shrinking = 0.9;
    constexpr int patience = 16;
    if (needed > 0) follow(needed);
    const double usual = std::max(usual_, shortest);
    if (late) {
      seconds_ *= growth;
      in_time_ = 0;
    } else if (++in_time_ >= patience) {
      seconds_ *= shrinking;
    }
    seconds_ = std::clamp(seconds_, least * usual, most * usual);
  }

 private:
  // The time below which a fifth of them lie: disturbances make it longer, nothing makes it shorter.
  void follow(double needed) {
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
