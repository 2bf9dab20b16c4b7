// Computation that takes a chosen time and touches neither MPI nor the message buffers. Source: guide,
// "IMB-NBC Benchmarks", "IMB-IO Nonblocking Benchmarks": a fully vectorizable product of a 100 x 100 matrix
// and a vector.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/calibration.h"
#include "model/options.h"

namespace openimb {

class CpuLoad : public Calibration<CpuLoad> {
 public:
  static constexpr int size = 100;
  static constexpr double operations_per_unit = 2.0 * size;

  CpuLoad() : data_(std::make_unique<Data>()) {
    // Each column sums to 1, so products stay finite and never become denormal, however many there are.
    for (auto& column : data_->columns) column.fill(1.0F / size);
    data_->vector.fill(1.0F);
    data_->product.fill(0.0F);
  }

  /// Measures how many units fit into a second, by runs of at least `seconds`. If the clock does not advance
  /// while the CPU computes, as in a simulator, loads have no units.
  template <class Clock>
  void calibrate(double seconds) {
    find_rate<Clock>(seconds);
  }
  double flops_per_second() const { return units_per_second() * operations_per_unit; }

  /// A unit adds one column of the matrix to the product and takes some ten nanoseconds. The next call
  /// continues where this one ended. A complete product becomes the next vector, so that a compiler cannot
  /// leave out any part.
  void compute(std::int64_t units);

 private:
  using Vector = std::array<float, size>;
  struct alignas(default_cache_line) Data {  // shares no cache line
    std::array<Vector, size> columns;
    Vector vector;
    Vector product;
  };
  std::unique_ptr<Data> data_;
  int column_ = 0;
};

}  // namespace openimb
