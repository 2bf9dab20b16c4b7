// Computation on a GPU that takes a chosen time, beside MPI: the host starts a kernel and waits for it. No
// kernel is shorter than its launch.
#pragma once

#include <cstdint>

#include "device/driver.h"
#include "engine/calibration.h"

namespace openimb {

class DeviceLoad : public Calibrated<DeviceLoad> {
 public:
  /// The device's load is prepared.
  explicit DeviceLoad(Device& device) : device_(device) {}

  /// Measures what a launch takes without units, and how many units fit into a second, from runs that take
  /// `seconds` longer. Throws DeviceError.
  template <class Clock>
  void calibrate(double seconds) {
    compute(0);  // the first launch takes longer
    measure_overhead<Clock>();
    if (!find_rate<Clock>(seconds)) throw DeviceError("the load on the GPU takes no time");
  }
  void compute(std::int64_t units) {
    device_.start_load(units);
    device_.wait_for_load();
  }
  Device& device() const { return device_; }

 private:
  Device& device_;
};

}  // namespace openimb
