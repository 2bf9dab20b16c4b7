// Pseudorandom numbers, orders and partners. A seed gives the same results on all ranks and with every
// compiler; the distributions of C++ libraries differ, so none is used. Sources: SplitMix64 (Steele, Lea and
// Flood 2014, "Fast splittable pseudorandom number generators") for numbers, Fisher and Yates for orders,
// Sattolo 1986 for cycles.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace openimb {

inline constexpr std::uint64_t default_seed = 1;

/// Number of rounds of partners that are drawn. After the last round, the loop starts over with the first.
inline constexpr int partner_rounds = 1024;

/// The generator SplitMix64.
class SplitMix {
 public:
  /// Distance from one state to the next: the n-th number of a seed is SplitMix(seed + n * step).next().
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
  constexpr explicit SplitMix(std::uint64_t state) : state_(state) {}
  constexpr std::uint64_t next() {
    state_ += step;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  /// A number from 0 to `count` - 1. The bias is below count / 2^64.
  template <std::signed_integral Number>
  constexpr Number below(Number count) {
    return static_cast<Number>(next() % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

/// The generator for one round. A round can be drawn without drawing the earlier ones.
constexpr SplitMix random_round(std::uint64_t seed, int round) {
  return SplitMix(SplitMix(SplitMix(seed).next() + static_cast<std::uint64_t>(round)).next());
}

/// The first `count` ranks in random order.
inline std::vector<int> random_order(std::uint64_t seed, int round, int count) {
  SplitMix random = random_round(seed, round);
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

/// The successor of each rank on one random cycle through all `count` ranks. With two or more ranks, no rank
/// is its own successor.
inline std::vector<int> random_cycle(std::uint64_t seed, int round, int count) {
  SplitMix random = random_round(seed, round);
  std::vector<int> next(static_cast<std::size_t>(count));
  std::iota(next.begin(), next.end(), 0);
  for (int i = count - 1; i > 0; --i) std::swap(next[i], next[random.below(i)]);
  return next;
}

}  // namespace openimb
