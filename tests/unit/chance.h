// Random numbers that are the same everywhere: the distributions of standard libraries differ.
#pragma once

#include <cmath>
#include <random>

namespace openimb {

class Chance {
 public:
  explicit Chance(unsigned seed) : bits_(seed) {}
  /// Above 0, below 1.
  double uniform() { return (static_cast<double>(bits_() >> 11U) + 0.5) * 0x1p-53; }
  /// Mean and median 0, standard deviation 1: the sum of twelve uniform numbers.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  double exponential() { return -std::log(uniform()); }

 private:
  std::mt19937_64 bits_;
};

}  // namespace openimb
