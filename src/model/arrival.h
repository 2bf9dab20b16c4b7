// -sync_start and -arrival decide when the ranks begin a repetition.
#pragma once

#include <cstdint>

#include "model/names.h"
#include "model/random.h"

namespace openimb {

/// -sync_start: what starts a synchronized repetition.
enum class SyncStart { barrier, clock };
template <>
inline constexpr Names<2> names_of<SyncStart> = {"barrier", "clock"};

/// -arrival: which ranks arrive late at a repetition. The root is rank 0, the first.
enum class ArrivalPattern { even, first, last, ascending, random };
template <>
inline constexpr Names<5> names_of<ArrivalPattern> = {"even", "first", "last", "ascending", "random"};

/// The width is the time from the arrival of the first rank to the arrival of the last one.
struct Arrival {
  ArrivalPattern pattern = ArrivalPattern::even;
  double width = 0;  ///< seconds
};

/// The value of -arrival. The width is in seconds or, if `relative`, a multiple of the time that the
/// operation takes with even arrival.
struct ArrivalChoice {
  ArrivalPattern pattern = ArrivalPattern::even;
  double width = 0;
  bool relative = false;
};

/// Returns a pseudorandom number in [0, 1). It depends only on the repetition and the rank, so every launch
/// gets the same numbers.
inline double random_share(std::int64_t repetition, int rank) {
  constexpr std::int64_t rounds = 1 << 30;
  SplitMix round_random = random_round(default_seed, static_cast<int>(repetition % rounds));
  SplitMix rank_random(round_random.next() + static_cast<std::uint64_t>(rank) * SplitMix::step);
  return static_cast<double>(rank_random.next() >> 11) * 0x1p-53;
}

/// Returns the seconds from the agreed start to the arrival of a rank.
inline double delay_of(const Arrival& arrival, int rank, int ranks, std::int64_t repetition) {
  switch (arrival.pattern) {
    case ArrivalPattern::first:
      return rank == 0 ? arrival.width : 0;
    case ArrivalPattern::last:
      return rank == ranks - 1 ? arrival.width : 0;
    case ArrivalPattern::ascending:
      return ranks > 1 ? arrival.width * rank / (ranks - 1) : 0;
    case ArrivalPattern::random:
      return arrival.width * random_share(repetition, rank);
    case ArrivalPattern::even:
      break;
  }
  return 0;
}

/// After `repetitions_to_give_up` repetitions, a row stops if fewer than half of them are valid.
inline constexpr std::int64_t repetitions_to_give_up = 100;
inline constexpr double least_valid_share = 0.5;
constexpr bool too_few_valid(std::int64_t valid, std::int64_t of) {
  return static_cast<double>(valid) < least_valid_share * static_cast<double>(of);
}

}  // namespace openimb
