// Computation that takes a chosen time, as the session sees it.
#pragma once

#include <cstdint>

namespace openimb {

class Load {
 public:
  virtual ~Load() = default;
  /// Finds out how many units fit into a second, from runs of at least `seconds`.
  virtual void calibrate(double seconds) = 0;
  virtual bool calibrated() const = 0;
  virtual std::int64_t units_for(double seconds) const = 0;
  /// What so many units took when they were calibrated.
  virtual double seconds_for(std::int64_t units) const = 0;
  /// How much longer `seconds` of load take now than they were calibrated for, as a share of it.
  virtual double drift(double seconds) = 0;
  virtual void compute(std::int64_t units) = 0;
};

}  // namespace openimb
