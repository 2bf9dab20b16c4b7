// Options of IMB-FABRIC: endpoints, and which pairs of them communicate in which round.
#pragma once

#include <cstdint>
#include <vector>

#include "model/names.h"
#include "model/random.h"

namespace openimb {

/// -endpoint: what one rank stands for.
enum class EndpointKind { host, socket, numa, core, rank };
template <>
inline constexpr Names<5> names_of<EndpointKind> = {"host", "socket", "numa", "core", "rank"};

enum class RoundKind {
  circle,      ///< every pair once, in N - 1 rounds of disjoint pairs
  some,        ///< each_meets of these rounds, with endpoints in random order
  one_to_all,  ///< in each round one endpoint, the hub, sends to all others at once
  all_to_one,  ///< all others send to the hub
  halves,      ///< every pair with an endpoint in the first half and one in the second
  listed       ///< the pairs of -pairs_file
};
template <>
inline constexpr Names<6> names_of<RoundKind> = {"circle",     "some",   "one_to_all",
                                                 "all_to_one", "halves", "listed"};

constexpr bool has_hub(RoundKind kind) {
  return kind == RoundKind::one_to_all || kind == RoundKind::all_to_one;
}

/// Two endpoints, by number. `a` sends where only one of the two does, and sends first where both do; in
/// rounds of a hub, `a` is the hub.
struct EndpointPair {
  int a = 0;
  int b = 0;
  bool operator==(const EndpointPair&) const = default;
};
using EndpointPairs = std::vector<EndpointPair>;

/// A start may take so many times -pair_timeout: large launches take minutes.
inline constexpr int start_timeout_factor = 10;

/// Options of IMB-FABRIC alone.
struct FabricOptions {
  EndpointKind endpoint = EndpointKind::rank;
  RoundKind rounds = RoundKind::circle;
  int each_meets = 0;   ///< -rounds K; 0: all
  bool serial = false;  ///< one pair of a round after the other
  bool matrix = false;  ///< the text has a line for each pair
  /// -pair_timeout: a rank that does not answer for so long is lost; 0: no limit.
  double timeout_seconds = 30;
  std::uint64_t seed = default_seed;  ///< of the order of rounds and, where only some run, of the choice
  std::vector<EndpointPairs> listed;  ///< -pairs_file
  std::vector<int> ranks = {};    ///< by endpoint its world rank, ascending; known once all ranks have sent
                                  ///< where they run
  std::vector<int> readers = {};  ///< by endpoint the rank that reads the counters of its host; at rank 0
};

}  // namespace openimb
