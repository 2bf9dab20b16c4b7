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
  static constexpr double operations_per_unit = 2.0 * size;

  CpuLoad() : data_(std::make_unique<Data>()) {
    // Each column sums to 1: products stay finite and never become denormal, however many there are.
    for (auto& column : data_->columns) column.fill(1.0F / size);
    data_->vector.fill(1.0F);
    data_->product.fill(0.0F);
  }

  /// Finds out how many units fit into a second: repeats until one run takes `seconds`, by a clock with
  /// now(). By a clock that computing does not move, as in a simulator, no load takes any time: none is done.
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
  /// How much longer the load takes now than it was calibrated for, as a share of it.
  template <class Clock>
  double drift(double seconds) {
    const double start = Clock::now();
    const std::int64_t units = units_for(seconds);
    compute(units);
    const double wanted = static_cast<double>(units) / units_per_second_;
    return units > 0 ? (Clock::now() - start) / wanted - 1 : 0;
  }
  bool calibrated() const { return calibrated_; }
  double flops_per_second() const { return units_per_second_ * operations_per_unit; }

  /// What so many units took when they were calibrated.
  double seconds_for(std::int64_t units) const {
    return units_per_second_ > 0 ? static_cast<double>(units) / units_per_second_ : 0;
  }
  std::int64_t units_for(double seconds) const {
    return static_cast<std::int64_t>(std::llround(std::max(0.0, seconds) * units_per_second_));
  }
  /// One unit: what one column of the matrix adds to the product, some ten nanoseconds; the next call goes on
  /// where this one ended. A whole product is the next one's vector, so that no part can be left out.
  void compute(std::int64_t units);

 private:
  static constexpr std::int64_t no_clock_misses = 1 << 20;  // milliseconds at the least
  using Vector = std::array<float, size>;
  struct alignas(64) Data {  // whole cache lines of its own
    std::array<Vector, size> columns;
    Vector vector;
    Vector product;
  };
  std::unique_ptr<Data> data_;
  int column_ = 0;
  double units_per_second_ = 0;
  bool calibrated_ = false;
};

}  // namespace openimb
