// Computation on a GPU that takes a chosen time. The host starts a kernel and waits for it. A load takes at
// least as long as the launch of its kernel.
#pragma once

#include <cstdint>

#include "device/driver.h"
#include "engine/calibration.h"

namespace openimb {

/// The load of the GPU.
class DeviceLoad : public Calibration<DeviceLoad> {
 public:
  /// The load of `device` must be prepared.
  explicit DeviceLoad(Device& device) : device_(device) {}

  /// Measures the time of a kernel launch without units, and how many units fit into a second, with runs that
  /// take `seconds` longer. Throws DeviceError.
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
