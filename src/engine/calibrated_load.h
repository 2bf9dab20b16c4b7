// The loads of this rank (computations that take a chosen time), calibrated with MPI_Wtime.
#pragma once

#include <optional>
#include <utility>

#include "engine/cpu_load.h"
#include "engine/device_load.h"
#include "engine/wall_clock.h"
#include "session/load.h"

namespace openimb {

/// A Load of the session that runs a CpuLoad or a DeviceLoad and measures it with WallClock.
template <class Computation>
class CalibratedLoad final : public Load {
 public:
  template <class... Arguments>
  explicit CalibratedLoad(Arguments&&... arguments) : computation_(std::forward<Arguments>(arguments)...) {}
  void calibrate(double seconds) override { computation_.template calibrate<WallClock>(seconds); }
  bool calibrated() const override { return computation_.calibrated(); }
  std::int64_t units_for(double seconds) const override { return computation_.units_for(seconds); }
  double seconds_for(std::int64_t units) const override { return computation_.seconds_for(units); }
  double drift(double seconds) override { return computation_.template drift<WallClock>(seconds); }
  void compute(std::int64_t units) override { computation_.compute(units); }
  Computation& computation() { return computation_; }

 private:
  Computation computation_;
};

/// The load of the CPU and, with -load device, the load of the GPU.
class Loads {
 public:
  /// `device`: null without -load device; otherwise a device whose load is prepared.
  explicit Loads(Device* device) {
    if (device != nullptr) device_.emplace(*device);
  }
  /// The load of the GPU, if there is one; otherwise the load of the CPU.
  Load& chosen() {
    if (device_) return *device_;
    return cpu_;
  }
  CpuLoad& cpu() { return cpu_.computation(); }
  CalibratedLoad<CpuLoad>& calibrated_cpu() { return cpu_; }
  /// Null if the CPU computes.
  DeviceLoad* device() { return device_ ? &device_->computation() : nullptr; }

 private:
  CalibratedLoad<CpuLoad> cpu_;
  std::optional<CalibratedLoad<DeviceLoad>> device_;
};

}  // namespace openimb
