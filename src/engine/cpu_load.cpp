#include "engine/cpu_load.h"

#ifdef OPENIMB_SMPI
#include <mpi.h>
#endif

namespace openimb {

#ifdef OPENIMB_SMPI

// On SimGrid's simulated machine, computation takes time only if it is reported to the simulator. A unit is
// 2^-30 seconds, about a nanosecond; a power of two keeps the simulated clock exact. The simulator ignores
// computation shorter than smpi/cpu-threshold, by default a microsecond.
void CpuLoad::compute(std::int64_t units) {
  constexpr double seconds_per_unit = 1.0 / (1 << 30);
  if (units > 0) smpi_execute(static_cast<double>(units) * seconds_per_unit);
}

#else

void CpuLoad::compute(std::int64_t units) {
  for (; units > 0; --units) {
    const Vector& column = data_->columns[column_];
    const float factor = data_->vector[column_];
    // Along a column, no sum depends on the order of its terms, so any compiler can vectorize the loop.
    for (int row = 0; row < size; ++row) data_->product[row] += column[row] * factor;
    if (++column_ == size) {
      column_ = 0;
      data_->vector = data_->product;
      data_->product.fill(0.0F);
    }
  }
}

#endif

}  // namespace openimb
