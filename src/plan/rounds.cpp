#include "plan/rounds.h"

#include <algorithm>
#include <utility>

#include "model/random.h"

namespace openimb {

namespace {

// Numbers of the random streams for seats and rounds. Pass i uses stream i, from 1 on.
constexpr int seat_stream = -1, round_stream = -2;

EndpointPair ascending(int first, int second) { return {std::min(first, second), std::max(first, second)}; }

}  // namespace

RoundPlan::RoundPlan(const FabricOptions& options, int endpoints) : options_(options), endpoints_(endpoints) {
  switch (options.rounds) {
    case RoundKind::circle:
      count_ = circle_rounds(endpoints);
      break;
    case RoundKind::some:
      count_ = std::min(options.requested_rounds, circle_rounds(endpoints));
      chosen_ = random_order(options.seed, round_stream, circle_rounds(endpoints));
      seats_ = random_order(options.seed, seat_stream, endpoints);
      break;
    case RoundKind::one_to_all:
    case RoundKind::all_to_one:
      count_ = endpoints;
      break;
    case RoundKind::halves:
      count_ = (endpoints + 1) / 2;
      break;
    case RoundKind::listed:
      count_ = static_cast<int>(options.listed.size());
      break;
  }
}

EndpointPairs RoundPlan::pairs(int round, int pass) const {
  EndpointPairs pairs = forward_pairs(round);
  if (pass % 2 == 0 && !has_hub() && options_.rounds != RoundKind::listed) {
    for (EndpointPair& pair : pairs) std::swap(pair.a, pair.b);
  }
  return pairs;
}

EndpointPairs RoundPlan::forward_pairs(int round) const {
  switch (options_.rounds) {
    case RoundKind::circle:
      return circle_pairs(round);
    case RoundKind::some: {
      EndpointPairs pairs = circle_pairs(chosen_[static_cast<std::size_t>(round)]);
      for (EndpointPair& pair : pairs) {
        pair = ascending(seats_[static_cast<std::size_t>(pair.a)], seats_[static_cast<std::size_t>(pair.b)]);
      }
      return pairs;
    }
    case RoundKind::one_to_all:
    case RoundKind::all_to_one:
      return hub_pairs(round);
    case RoundKind::halves:
      return halves_pairs(round);
    case RoundKind::listed:
      break;
  }
  return options_.listed[static_cast<std::size_t>(round)];
}

// The circle method: one endpoint keeps its seat, the others move on by one seat in each round, and endpoints
// that face each other are a pair. With an odd number of endpoints the fixed seat is empty, so the endpoint
// that faces it is idle.
EndpointPairs RoundPlan::circle_pairs(int round) const {
  const int moving = circle_rounds(endpoints_);
  EndpointPairs pairs;
  if (endpoints_ % 2 == 0) pairs.push_back(ascending(round, moving));
  for (int step = 1; step <= (moving - 1) / 2; ++step) {
    pairs.push_back(ascending((round + step) % moving, (round + moving - step) % moving));
  }
  return pairs;
}

EndpointPairs RoundPlan::hub_pairs(int hub) const {
  EndpointPairs pairs;
  for (int other = 0; other < endpoints_; ++other) {
    if (other != hub) pairs.push_back({hub, other});
  }
  return pairs;
}

// With an odd number of endpoints the second half is larger. In each round, a different endpoint of the
// second half is then idle.
EndpointPairs RoundPlan::halves_pairs(int round) const {
  const int first = endpoints_ / 2, second = endpoints_ - first;
  EndpointPairs pairs;
  for (int i = 0; i < first; ++i) pairs.push_back({i, first + (i + round) % second});
  return pairs;
}

std::vector<int> RoundPlan::order(int pass) const { return random_order(options_.seed, pass, count_); }

RoundPartners RoundPlan::round_partners(const EndpointPairs& pairs, int endpoint) const {
  RoundPartners round_partners;
  for (const EndpointPair& pair : pairs) {
    if (pair.a != endpoint && pair.b != endpoint) continue;
    round_partners.partners.push_back(pair.a == endpoint ? pair.b : pair.a);
    round_partners.sends_first = (pair.a == endpoint) != (options_.rounds == RoundKind::all_to_one);
  }
  return round_partners;
}

}  // namespace openimb
