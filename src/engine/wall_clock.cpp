#include "engine/wall_clock.h"

#include <algorithm>
#include <limits>

namespace openimb {

double WallClock::resolution() {
  if (const double reported = MPI_Wtick(); reported > 0) return reported;
  constexpr int max_steps = 100;
  double smallest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < max_steps; ++i) {
    const double start = now();
    double next = start;
    while (!(next > start)) next = now();
    smallest = std::min(smallest, next - start);
  }
  return smallest;
}

}  // namespace openimb
