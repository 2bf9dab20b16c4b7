// Calibration of a load: how much computation fits into a time. The loads of the CPU and of the GPU share it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace openimb {

/// The base of a load `Self`, which has compute(units). A `Clock` has now().
template <class Self>
class Calibration {
 public:
  /// How much longer a load of `seconds` takes now than when it was calibrated, as a share of that time.
  template <class Clock>
  double drift(double seconds) {
    const std::int64_t units = units_for(seconds);
    const double measured = seconds_of<Clock>(units), expected = seconds_for(units);
    return expected > 0 ? measured / expected - 1 : 0;
  }
  bool calibrated() const { return calibrated_; }
  /// Seconds that `units` take, as calibrated.
  double seconds_for(std::int64_t units) const {
    return overhead_ + (units_per_second_ > 0 ? static_cast<double>(units) / units_per_second_ : 0);
  }
  /// 0 where the overhead alone takes as long.
  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds - overhead_) * units_per_second_));
  }
  double units_per_second() const { return units_per_second_; }

 protected:
  /// Takes the shortest of several runs, as a single one may have been interrupted.
  template <class Clock>
  void measure_overhead() {
    overhead_ = shortest<Clock>(0, 0);
  }
  /// Doubles the units until the shortest of several runs takes `seconds` longer than the overhead. Returns
  /// false if the units take no time.
  template <class Clock>
  bool find_rate(double seconds) {
    constexpr std::int64_t milliseconds_at_least = 1 << 20, hours = std::int64_t{1} << 40;  // in units
    for (std::int64_t units = 1;; units *= 2) {
      const double elapsed = shortest<Clock>(units, overhead_ + seconds) - overhead_;
      const bool clock_stands_still = elapsed <= 0 && units >= milliseconds_at_least;
      if (elapsed < seconds && !clock_stands_still && units < hours) continue;
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
  /// The seconds of the shortest of up to three runs; it stops at the first one below `enough`.
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
