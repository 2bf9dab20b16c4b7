// IMB-FABRIC: which pairs of endpoints communicate in which round, and the order of rounds in a pass. Pure,
// and a round at a time: memory of O(N) for N endpoints. Source of the rounds: the circle method of
// round-robin tournaments (Kirkman, 1847).
#pragma once

#include <vector>

#include "model/fabric_options.h"

namespace openimb {

/// The partners of one endpoint in a round.
struct RoundPartners {
  std::vector<int> partners;  ///< numbers of endpoints; empty: idle
  bool sends_first = false;
};

class RoundPlan {
 public:
  /// `options` outlives the plan.
  RoundPlan(const FabricOptions& options, int endpoints);
  int count() const { return count_; }
  /// In odd passes `a` is the lower number, in even ones the higher, so that an even number of passes
  /// measures both directions equally often. Pairs of a hub and pairs from a file are the same in all passes.
  EndpointPairs pairs(int round, int pass) const;
  /// Numbers of the rounds in the order of a pass; passes count from 1.
  std::vector<int> order(int pass) const;
  RoundPartners round_partners(const EndpointPairs& pairs, int endpoint) const;
  bool has_hub() const { return openimb::has_hub(options_.rounds); }

 private:
  EndpointPairs forward_pairs(int round) const;
  EndpointPairs pairs_of_circle(int round) const;
  EndpointPairs pairs_of_hub(int hub) const;
  EndpointPairs pairs_of_halves(int round) const;

  const FabricOptions& options_;
  const int endpoints_;
  int count_ = 0;
  std::vector<int> chosen_;  ///< of `some`: rounds of the circle
  std::vector<int> seats_;   ///< of `some`: endpoints in random order
};

/// Number of rounds of the circle method.
constexpr int circle_rounds(int endpoints) { return endpoints % 2 == 0 ? endpoints - 1 : endpoints; }

}  // namespace openimb
