// Computation that takes a chosen time, as the session sees it.
#pragma once

#include <cstdint>

namespace openimb {

class Load {
 public:
  virtual ~Load() = default;
  /// Measures how many units of computation fit into a second, in runs of at least `seconds`.
  virtual void calibrate(double seconds) = 0;
  virtual bool calibrated() const = 0;
  virtual std::int64_t units_for(double seconds) const = 0;
  /// Returns the seconds that `units` take according to the calibration.
  virtual double seconds_for(std::int64_t units) const = 0;
  /// Returns how much longer a load of `seconds` takes now than at the calibration, as a fraction of
  /// `seconds`.
  virtual double drift(double seconds) = 0;
  virtual void compute(std::int64_t units) = 0;
};

}  // namespace openimb
