// The load with a clock that only the load advances, so that calibration is exact.
#include <catch2/catch.hpp>
#include <chrono>

#include "engine/cpu_load.h"

using namespace openimb;

namespace {

double seconds_now = 0;
double seconds_per_reading = 0;
struct FakeClock {
  static double now() { return seconds_now += seconds_per_reading; }
};

}  // namespace

TEST_CASE("a load is calibrated with the first run that lasts long enough") {
  // Every run seems to last half a second, however many units it has: the first is long enough.
  seconds_per_reading = 0.5;
  CpuLoad load;
  CHECK_FALSE(load.calibrated());
  load.calibrate<FakeClock>(0.5);
  CHECK(load.calibrated());
  CHECK(load.units_for(1.0) == 2);
  CHECK(load.units_for(0.25) == 1);
  CHECK(load.units_for(0) == 0);
  CHECK(load.units_for(-1) == 0);
  CHECK(load.flops_per_second() == 2 * CpuLoad::operations_per_unit);
}

TEST_CASE("with a clock that stands still, no load is computed") {
  seconds_per_reading = 0;
  CpuLoad load;
  load.calibrate<FakeClock>(0.5);
  CHECK(load.calibrated());
  CHECK(load.units_for(100) == 0);
}

TEST_CASE("a real clock gives a plausible speed") {
  struct Clock {
    static double now() {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
  };
  CpuLoad load;
  load.calibrate<Clock>(0.02);
  CHECK(load.flops_per_second() > 1e7);
  CHECK(load.flops_per_second() < 1e13);
}

TEST_CASE("drift compares the time of the load with its calibration") {
  seconds_per_reading = 0.5;
  CpuLoad load;
  load.calibrate<FakeClock>(0.5);
  CHECK(load.drift<FakeClock>(0.5) == 0);
  seconds_per_reading = 0.75;
  CHECK(load.drift<FakeClock>(0.5) == 0.5);
  seconds_per_reading = 0.25;
  CHECK(load.drift<FakeClock>(0.5) == -0.5);
}

TEST_CASE("calibration doubles the load until it lasts long enough") {
  // Readings before and after runs of 1, 2 and 2, 4, 4 and 4 units: a unit takes a quarter of a second, the
  // first run of 2 is interrupted, and so is the second one of 4.
  static const double readings[] = {0, 0.25, 10, 11.5, 12, 12.5, 20, 21, 30, 34, 40, 41};
  static int next;
  next = 0;
  struct Clock {
    static double now() { return readings[next++]; }
  };
  CpuLoad load;
  load.calibrate<Clock>(1.0);
  CHECK(next == 12);
  CHECK(load.units_for(10) == 40);
}
