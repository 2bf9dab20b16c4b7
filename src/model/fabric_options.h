// Options of IMB-FABRIC. They decide what an endpoint is, and which pairs of endpoints communicate in each
// round.
#pragma once

#include <cstdint>
#include <vector>

#include "model/names.h"
#include "model/random.h"

namespace openimb {

/// -endpoint: which part of the machine is an endpoint. The first rank in it communicates.
enum class EndpointKind { host, socket, numa, core, rank };
template <>
inline constexpr Names<5> names_of<EndpointKind> = {"host", "socket", "numa", "core", "rank"};

/// -rounds, -halves, -pairs_file: which pairs of endpoints communicate in a round.
enum class RoundKind {
  circle,      ///< every pair once, in N - 1 rounds of disjoint pairs
  some,        ///< FabricOptions::requested_rounds of the circle rounds, with endpoints in random order
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

/// The numbers of two endpoints. If only one of them sends, it is `a`; if both send, `a` sends first. In
/// rounds with a hub, `a` is the hub.
struct EndpointPair {
  int a = 0;
  int b = 0;
  bool operator==(const EndpointPair&) const = default;
};
using EndpointPairs = std::vector<EndpointPair>;

/// A launch may take this multiple of -pair_timeout to start, because large launches take minutes.
inline constexpr int start_timeout_factor = 10;

/// Options that only IMB-FABRIC has.
struct FabricOptions {
  EndpointKind endpoint = EndpointKind::rank;
  RoundKind rounds = RoundKind::circle;
  int requested_rounds = 0;  ///< -rounds K: rounds in which each endpoint takes part; 0: all
  bool serial = false;       ///< the pairs of a round run one after another
  bool matrix = false;       ///< the text has a line for each pair
  /// -pair_timeout: a rank that does not respond for this time is lost. 0: no limit.
  double timeout_seconds = 30;
  /// Seed for the order of rounds and, with RoundKind::some, for their choice.
  std::uint64_t seed = default_seed;
  std::vector<EndpointPairs> listed;  ///< -pairs_file
  std::vector<int> ranks = {};    ///< world rank of each endpoint, ascending; set after all ranks have sent
                                  ///< where they run
  std::vector<int> readers = {};  ///< for each endpoint, the rank that reads its host's counters; on rank 0
};

}  // namespace openimb
