// Computation that takes a chosen time and touches neither MPI nor the message buffers. Source: guide,
// "IMB-NBC Benchmarks", "IMB-IO Nonblocking Benchmarks": a fully vectorisable 100 x 100 matrix times vector.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/calibration.h"

namespace openimb {

class CpuLoad : public Calibrated<CpuLoad> {
 public:
  static constexpr int size = 100;
  static constexpr double operations_per_unit = 2.0 * size;

  CpuLoad() : data_(std::make_unique<Data>()) {
    // Each column sums to 1: products stay finite and never become denormal, however many there are.
    for (auto& column : data_->columns) column.fill(1.0F / size);
    data_->vector.fill(1.0F);
    data_->product.fill(0.0F);
  }

  /// Finds out how many units fit into a second, from runs of at least `seconds`. By a clock that computing
  /// does not move, as in a simulator, no load takes any time: none is done.
  template <class Clock>
  void calibrate(double seconds) {
    find_rate<Clock>(seconds);
  }
  double flops_per_second() const { return units_per_second() * operations_per_unit; }

  /// One unit: what one column of the matrix adds to the product, some ten nanoseconds; the next call goes on
  /// where this one ended. A whole product is the next one's vector, so that no part can be left out.
  void compute(std::int64_t units);

 private:
  using Vector = std::array<float, size>;
  struct alignas(64) Data {  // whole cache lines of its own
    std::array<Vector, size> columns;
    Vector vector;
    Vector product;
  };
  std::unique_ptr<Data> data_;
  int column_ = 0;
};

}  // namespace openimb
