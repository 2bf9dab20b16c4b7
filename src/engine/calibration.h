// Calibration of a load: how many units of computation fit into a given time. The loads of the CPU and of the
// GPU share it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace openimb {

/// Base class of a load `Self`, which has compute(units). A `Clock` has now(), in seconds.
template <class Self>
class Calibration {
 public:
  /// Runs a load of `seconds` and returns how much longer it took than when it was calibrated, as a share of
  /// the calibrated time: 0.1 for 10 % longer.
  template <class Clock>
  double drift(double seconds) {
    const std::int64_t units = units_for(seconds);
    const double measured = seconds_of<Clock>(units), expected = seconds_for(units);
    return expected > 0 ? measured / expected - 1 : 0;
  }
  bool calibrated() const { return calibrated_; }
  /// Seconds that `units` units take according to the calibration.
  double seconds_for(std::int64_t units) const {
    return overhead_ + (units_per_second_ > 0 ? static_cast<double>(units) / units_per_second_ : 0);
  }
  /// Number of units that take `seconds`; 0 if the overhead alone takes as long.
  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds - overhead_) * units_per_second_));
  }
  double units_per_second() const { return units_per_second_; }

 protected:
  /// Measures the time of a run with 0 units: the shortest of several runs, because one may be interrupted.
  template <class Clock>
  void measure_overhead() {
    overhead_ = shortest<Clock>(0, 0);
  }
  /// Doubles the units until the shortest of several runs takes `seconds` longer than the overhead. Returns
  /// false if the units take no time.
  template <class Clock>
  bool find_rate(double seconds) {
    // These numbers of units take at least milliseconds, and hours.
    constexpr std::int64_t min_units = 1 << 20, max_units = std::int64_t{1} << 40;
    for (std::int64_t units = 1;; units *= 2) {
      const double elapsed = shortest<Clock>(units, overhead_ + seconds) - overhead_;
      const bool clock_is_stopped = elapsed <= 0 && units >= min_units;
      if (elapsed < seconds && !clock_is_stopped && units < max_units) continue;
      units_per_second_ = elapsed >= seconds && elapsed > 0 ? static_cast<double>(units) / elapsed : 0;
      calibrated_ = true;
      return units_per_second_ > 0;
    }
  }

 private:
  template <class Clock>
  double seconds_of(std::int64_t units) {
    const double start = Clock::now();
    static_cast<Self&>(*this).compute(units);
    return Clock::now() - start;
  }
  /// Seconds of the shortest of up to three runs. It stops at the first run that is shorter than `enough`.
  template <class Clock>
  double shortest(std::int64_t units, double enough) {
    constexpr int runs = 3;
    double seconds = seconds_of<Clock>(units);
    for (int run = 1; run < runs && seconds >= enough; ++run) {
      seconds = std::min(seconds, seconds_of<Clock>(units));
    }
    return seconds;
  }

  double overhead_ = 0;
  double units_per_second_ = 0;
  bool calibrated_ = false;
};

}  // namespace openimb
