// The CPU load of this rank, by MPI's clock.
#pragma once

#include "engine/cpu_load.h"
#include "engine/wall_clock.h"
#include "session/load.h"

namespace openimb {

class CalibratedLoad final : public Load {
 public:
  void calibrate(double seconds) override { cpu_.calibrate<WallClock>(seconds); }
  bool calibrated() const override { return cpu_.calibrated(); }
  std::int64_t units_for(double seconds) const override { return cpu_.units_for(seconds); }
  double seconds_for(std::int64_t units) const override { return cpu_.seconds_for(units); }
  double drift(double seconds) override { return cpu_.drift<WallClock>(seconds); }
  void compute(std::int64_t units) override { cpu_.compute(units); }
  CpuLoad& cpu() { return cpu_; }

 private:
  CpuLoad cpu_;
};

}  // namespace openimb
