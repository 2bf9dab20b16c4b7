#include "engine/cpu_load.h"

namespace openimb {

void CpuLoad::compute(std::int64_t units) {
  Vector vector = data_->vector;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    Vector product{};
    for (int column = 0; column < size; ++column) {
      const float factor = vector[column];
      // Along a column: no sum depends on the order of its terms, so that any compiler can vectorise it.
      for (int row = 0; row < size; ++row) product[row] += data_->columns[column][row] * factor;
    }
    vector = product;
  }
  data_->vector = vector;
}

}  // namespace openimb
