// Computation on a GPU that takes a chosen time, beside MPI: the host starts a kernel and waits for it. No
// kernel is shorter than its launch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/driver.h"

namespace openimb {

class DeviceLoad {
 public:
  /// The device's load is prepared.
  explicit DeviceLoad(Device& device) : device_(device) {}

  /// Measures what a launch takes without units, and how many units fit into a second: doubles them until
  /// the shortest of three runs takes `seconds` longer, by a clock with now(). Throws DeviceError.
  template <class Clock>
  void calibrate(double seconds) {
    compute(0);  // the first launch takes longer
    launch_seconds_ = shortest<Clock>(0);
    for (std::int64_t units = 1; units <= most_units; units *= 2) {
      if (seconds_of<Clock>(units) - launch_seconds_ < seconds) continue;
      const double took = shortest<Clock>(units) - launch_seconds_;
      if (took < seconds) continue;
      units_per_second_ = static_cast<double>(units) / took;
      calibrated_ = true;
      return;
    }
    throw DeviceError("the load on the GPU takes no time");
  }
  /// How much longer the load takes now than it was calibrated for, as a share of it.
  template <class Clock>
  double drift(double seconds) {
    const std::int64_t units = units_for(seconds);
    return seconds_of<Clock>(units) / seconds_for(units) - 1;
  }
  bool calibrated() const { return calibrated_; }

  /// What so many units took when they were calibrated, with the launch.
  double seconds_for(std::int64_t units) const {
    return launch_seconds_ + static_cast<double>(units) / units_per_second_;
  }
  /// None where a launch alone takes as long.
  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(
        std::llround(std::max(0.0, seconds - launch_seconds_) * units_per_second_));
  }
  void compute(std::int64_t units) {
    device_.start_load(units);
    device_.wait_for_load();
  }
  Device& device() const { return device_; }

 private:
  template <class Clock>
  double seconds_of(std::int64_t units) {
    const double start = Clock::now();
    compute(units);
    return Clock::now() - start;
  }
  template <class Clock>
  double shortest(std::int64_t units) {
    double took = seconds_of<Clock>(units);
    for (int again = 1; again < runs; ++again) took = std::min(took, seconds_of<Clock>(units));
    return took;
  }

  static constexpr int runs = 3;
  static constexpr std::int64_t most_units = std::int64_t{1} << 40;  // hours
  Device& device_;
  double launch_seconds_ = 0;
  double units_per_second_ = 1;
  bool calibrated_ = false;
};

}  // namespace openimb
