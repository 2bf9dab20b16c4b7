#include "plan/rounds.h"

#include <algorithm>
#include <utility>

#include "plan/random.h"

namespace openimb {

namespace {

// What is drawn at random, each from numbers of its own: passes count from 1 on.
constexpr int draw_of_seats = -1, draw_of_rounds = -2;

EndpointPair in_order(int first, int second) { return {std::min(first, second), std::max(first, second)}; }

}  // namespace

RoundPlan::RoundPlan(const FabricOptions& options, int endpoints) : options_(options), endpoints_(endpoints) {
  switch (options.rounds) {
    case RoundKind::circle:
      count_ = circle_rounds(endpoints);
      break;
    case RoundKind::some:
      count_ = std::min(options.each_meets, circle_rounds(endpoints));
      chosen_ = random_order(options.seed, draw_of_rounds, circle_rounds(endpoints));
      seats_ = random_order(options.seed, draw_of_seats, endpoints);
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
  EndpointPairs pairs = forth(round);
  if (pass % 2 == 0 && !has_hub() && options_.rounds != RoundKind::listed) {
    for (EndpointPair& pair : pairs) std::swap(pair.a, pair.b);
  }
  return pairs;
}

EndpointPairs RoundPlan::forth(int round) const {
  switch (options_.rounds) {
    case RoundKind::circle:
      return circle(round);
    case RoundKind::some: {
      EndpointPairs pairs = circle(chosen_[static_cast<std::size_t>(round)]);
      for (EndpointPair& pair : pairs) {
        pair = in_order(seats_[static_cast<std::size_t>(pair.a)], seats_[static_cast<std::size_t>(pair.b)]);
      }
      return pairs;
    }
    case RoundKind::one_to_all:
    case RoundKind::all_to_one:
      return of_hub(round);
    case RoundKind::halves:
      return across(round);
    case RoundKind::listed:
      break;
  }
  return options_.listed[static_cast<std::size_t>(round)];
}

// One endpoint keeps its seat, the others move on by one seat from round to round; who face each other are a
// pair. With an odd number the seat that stays is empty.
EndpointPairs RoundPlan::circle(int round) const {
  const int moving = circle_rounds(endpoints_);
  EndpointPairs pairs;
  if (endpoints_ % 2 == 0) pairs.push_back(in_order(round, moving));
  for (int step = 1; step <= (moving - 1) / 2; ++step) {
    pairs.push_back(in_order((round + step) % moving, (round + moving - step) % moving));
  }
  return pairs;
}

EndpointPairs RoundPlan::of_hub(int hub) const {
  EndpointPairs pairs;
  for (int other = 0; other < endpoints_; ++other) {
    if (other != hub) pairs.push_back({hub, other});
  }
  return pairs;
}

// With an odd number, the second half is larger, and in each round another of it is idle.
EndpointPairs RoundPlan::across(int round) const {
  const int first = endpoints_ / 2, second = endpoints_ - first;
  EndpointPairs pairs;
  for (int i = 0; i < first; ++i) pairs.push_back({i, first + (i + round) % second});
  return pairs;
}

std::vector<int> RoundPlan::order(int pass) const { return random_order(options_.seed, pass, count_); }

RoundPartners RoundPlan::meeting(const EndpointPairs& pairs, int endpoint) const {
  RoundPartners meeting;
  for (const EndpointPair& pair : pairs) {
    if (pair.a != endpoint && pair.b != endpoint) continue;
    meeting.partners.push_back(pair.a == endpoint ? pair.b : pair.a);
    meeting.sends_first = (pair.a == endpoint) != (options_.rounds == RoundKind::all_to_one);
  }
  return meeting;
}

}  // namespace openimb
