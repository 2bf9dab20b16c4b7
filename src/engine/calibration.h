// How much computation fits into a time: found once, for the CPU's load and the GPU's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace openimb {

/// Base of a computation `Self`, which has compute(units). Clocks have now().
template <class Self>
class Calibrated {
 public:
  /// How much longer the load takes now than it was calibrated for, as a share of it.
  template <class Clock>
  double drift(double seconds) {
    const std::int64_t units = units_for(seconds);
    const double took = seconds_of<Clock>(units), usual = seconds_for(units);
    return usual > 0 ? took / usual - 1 : 0;
  }
  bool calibrated() const { return calibrated_; }
  /// What so many units took when they were calibrated.
  double seconds_for(std::int64_t units) const {
    return overhead_ + (units_per_second_ > 0 ? static_cast<double>(units) / units_per_second_ : 0);
  }
  /// None where no units alone take as long.
  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds - overhead_) * units_per_second_));
  }
  double units_per_second() const { return units_per_second_; }

 protected:
  /// The shortest of several runs: one alone may have been interrupted.
  template <class Clock>
  void measure_overhead() {
    overhead_ = shortest<Clock>(0, 0);
  }
  /// Doubles the units until the shortest of several runs takes `seconds` longer than the overhead. Whether
  /// they take any time.
  template <class Clock>
  bool find_rate(double seconds) {
    constexpr std::int64_t milliseconds_at_least = 1 << 20, hours = std::int64_t{1} << 40;  // in units
    for (std::int64_t units = 1;; units *= 2) {
      const double took = shortest<Clock>(units, overhead_ + seconds) - overhead_;
      const bool stands_still = took <= 0 && units >= milliseconds_at_least;
      if (took < seconds && !stands_still && units < hours) continue;
      units_per_second_ = took >= seconds && took > 0 ? static_cast<double>(units) / took : 0;
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
  /// Of runs until one takes less than `enough`.
  template <class Clock>
  double shortest(std::int64_t units, double enough) {
    constexpr int runs = 3;
    double took = seconds_of<Clock>(units);
    for (int again = 1; again < runs && took >= enough; ++again) {
      took = std::min(took, seconds_of<Clock>(units));
    }
    return took;
  }

  double overhead_ = 0;
  double units_per_second_ = 0;
  bool calibrated_ = false;
};

}  // namespace openimb
