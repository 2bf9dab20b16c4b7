#include "clocks/waiting.h"

#include <algorithm>
#include <limits>

#include "system/sleep.h"

namespace openimb {

namespace {

constexpr double nanosecond = 1e-9;

}  // namespace

#ifdef OPENIMB_SMPI

void wait_until(double until, double (*now)()) {
  for (double left = until - now(); left > 0; left = until - now()) {
    // A sleep shorter than a nanosecond would not advance the clock, whose readings may advance in ticks.
    system::pause_for(std::max(left, nanosecond) + nanosecond / 2);
  }
}

double measured_tick(double (*now)()) {
  double step = nanosecond;
  const double start = now();
  double next = start;
  for (; next <= start; step *= 2, next = now()) system::pause_for(step + nanosecond / 2);
  return next - start;
}

#else

void wait_until(double until, double (*now)()) {
  while (now() < until) {
  }
}

double measured_tick(double (*now)()) {
  constexpr int steps = 20;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < steps; ++i) {
    const double start = now();
    double next = start;
    while (!(next > start)) next = now();
    least = std::min(least, next - start);
  }
  return least;
}

#endif

}  // namespace openimb
