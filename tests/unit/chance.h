// Random numbers that are the same with every standard library, whose distributions differ.
#pragma once

#include <cmath>
#include <random>

namespace openimb {

class RandomNumbers {
 public:
  explicit RandomNumbers(unsigned seed) : bits_(seed) {}
  /// Returns a number above 0 and below 1.
  double uniform() { return (static_cast<double>(bits_() >> 11U) + 0.5) * 0x1p-53; }
  /// Returns a sum of twelve uniform numbers, with mean and median 0 and standard deviation 1.
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
