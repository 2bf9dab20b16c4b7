// Computation that takes a chosen time and touches neither MPI nor the message buffers. Source: guide,
// "IMB-NBC Benchmarks", "IMB-IO Nonblocking Benchmarks": a fully vectorisable 100 x 100 matrix times vector.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>

namespace openimb {

class CpuLoad {
 public:
  static constexpr int size = 100;
  static constexpr double operations_per_unit = 2.0 * size * size;

  CpuLoad() : data_(std::make_unique<Data>()) {
    // Each column sums to 1: products stay finite and never become denormal, however many there are.
    for (auto& column : data_->columns) column.fill(1.0F / size);
    data_->vector.fill(1.0F);
  }

  /// Finds out how many units fit into a second: repeats until one run takes `seconds`, by a clock with now(). By a clock that
  /// computing does not move, as in a simulator, no load takes any time: none is done.
  template <class Clock>
  void calibrate(double seconds) {
    for (std::int64_t units = 1;; units *= 2) {
      const double start = Clock::now();
      compute(units);
      const double took = Clock::now() - start;
      const bool stands_still = took <= 0 && units >= no_clock_misses;
      if (took >= seconds || stands_still) {
        units_per_second_ = took > 0 ? static_cast<double>(units) / took : 0;
        calibrated_ = true;
        return;
      }
    }
  }
  bool calibrated() const { return calibrated_; }
  double flops_per_second() const { return units_per_second_ * operations_per_unit; }

  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds) * units_per_second_));
  }
  /// One unit: one matrix-vector product. Its result is the next one's input, so that none can be left out.
  void compute(std::int64_t units);

 private:
  static constexpr std::int64_t no_clock_misses = 4096;  // milliseconds at the least
  using Vector = std::array<float, size>;
  struct alignas(64) Data {  // whole cache lines of its own
    std::array<Vector, size> columns;
    Vector vector;
  };
  std::unique_ptr<Data> data_;
  double units_per_second_ = 0;
  bool calibrated_ = false;
};

}  // namespace openimb
