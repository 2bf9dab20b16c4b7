// Computation on the CPU that takes a chosen time. It calls no MPI and does not touch the message buffers. It
// is a fully vectorizable product of a 100 x 100 matrix and a vector. Source: guide, "IMB-NBC Benchmarks",
// "IMB-IO Nonblocking Benchmarks".
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/calibration.h"
#include "model/options.h"

namespace openimb {

/// The load of the CPU.
class CpuLoad : public Calibration<CpuLoad> {
 public:
  static constexpr int size = 100;
  static constexpr double operations_per_unit = 2.0 * size;

  /// Measures how many units fit into a second, with runs of at least `seconds`. In a simulator, the clock
  /// may not advance while the CPU computes; then units_for() returns 0.
  template <class Clock>
  void calibrate(double seconds) {
    find_rate<Clock>(seconds);
  }
  double flops_per_second() const { return units_per_second() * operations_per_unit; }

  /// Computes `units` units. A unit adds one column of the matrix to the product and takes some ten
  /// nanoseconds. The next call continues where this one ended. A complete product becomes the next vector,
  /// so that a compiler cannot leave out any part.
  void compute(std::int64_t units);

#ifndef OPENIMB_SMPI  // a simulated rank does not compute, and has no room for a matrix
 private:
  using Vector = std::array<float, size>;
  struct alignas(default_cache_line) Data {  // its own cache lines
    Data() {
      // Each column sums to 1, so products stay finite and never become denormal.
      for (auto& column : columns) column.fill(1.0F / size);
      vector.fill(1.0F);
      product.fill(0.0F);
    }
    std::array<Vector, size> columns;
    Vector vector;
    Vector product;
  };
  const std::unique_ptr<Data> data_ = std::make_unique<Data>();
  int column_ = 0;
#endif
};

}  // namespace openimb
