// Computes, for IMB-FABRIC, the pairs of endpoints that communicate in each round, and the order of the
// rounds in a pass. The functions are pure and compute one round at a time, so that N endpoints need O(N)
// memory. Source: the circle method of round-robin tournaments (Kirkman, 1847).
#pragma once

#include <vector>

#include "model/fabric_options.h"

namespace openimb {

/// The partners of one endpoint in a round, and whether it sends to them before it receives.
struct RoundPartners {
  std::vector<int> partners;  ///< numbers of endpoints; empty: idle
  bool sends_first = false;
};

/// The rounds of an IMB-FABRIC launch.
class RoundPlan {
 public:
  /// `options` must outlive the plan.
  RoundPlan(const FabricOptions& options, int endpoints);
  int count() const { return count_; }
  /// Returns the pairs of a round. In odd passes `a` is the lower number of a pair, in even passes the higher
  /// one, so that an even number of passes measures both directions equally often. Pairs with a hub and pairs
  /// from a file are the same in all passes.
  EndpointPairs pairs(int round, int pass) const;
  /// Returns the numbers of all rounds in the random order of a pass. Passes count from 1.
  std::vector<int> order(int pass) const;
  RoundPartners round_partners(const EndpointPairs& pairs, int endpoint) const;
  bool has_hub() const { return openimb::has_hub(options_.rounds); }

 private:
  EndpointPairs forward_pairs(int round) const;
  EndpointPairs circle_pairs(int round) const;
  EndpointPairs hub_pairs(int hub) const;
  EndpointPairs halves_pairs(int round) const;

  const FabricOptions& options_;
  const int endpoints_;
  int count_ = 0;
  std::vector<int> chosen_;  ///< RoundKind::some: rounds of the circle in random order
  std::vector<int> seats_;   ///< RoundKind::some: endpoints in random order
};

/// Number of rounds of the circle method.
constexpr int circle_rounds(int endpoints) { return endpoints % 2 == 0 ? endpoints - 1 : endpoints; }

}  // namespace openimb
