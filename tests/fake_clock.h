// A clock that differs from the true one: MPI_Wtime as FAKE_CLOCK and others say.
//   FAKE_CLOCK=offset,drift   seconds, and a share; rank r is r-th of four signs: (+ +), (- -), (+ -), (- +)
//   FAKE_TICK=seconds         readings advance in steps
//   FAKE_STEP=rank,at,by      the clock of a rank is set at a true time (seconds after its first reading) by
//   so many seconds
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace fake {

struct Clock {
  double offset = 0, drift = 0, tick = 0, step_at = 0, step_by = 0;
  double first = 0;

  /// What an exact clock of this kind shows.
  double exact(double truth) const {
    const double stepped = step_by != 0 && truth - first >= step_at ? step_by : 0;
    return truth + offset + drift * (truth - first) + stepped;
  }
  double reading(double truth) const {
    const double time = exact(truth);
    return tick > 0 ? std::floor(time / tick) * tick : time;
  }
};

inline Clock clock_of(int rank, double first) {
  Clock clock;
  clock.first = first;
  if (const char* const text = std::getenv("FAKE_CLOCK")) {
    std::sscanf(text, "%lf,%lf", &clock.offset, &clock.drift);
    constexpr int signs[4][2] = {{1, 1}, {-1, -1}, {1, -1}, {-1, 1}};
    clock.offset *= signs[rank % 4][0] * (1 - 0.1 * (rank % 7));
    clock.drift *= signs[rank % 4][1] * (1 - 0.1 * (rank % 5));
  }
  if (const char* const text = std::getenv("FAKE_TICK")) clock.tick = std::atof(text);
  int stepped = -1;
  double at = 0, by = 0;
  if (const char* const text = std::getenv("FAKE_STEP")) std::sscanf(text, "%d,%lf,%lf", &stepped, &at, &by);
  if (stepped == rank) {
    clock.step_at = at;
    clock.step_by = by;
  }
  return clock;
}

}  // namespace fake
