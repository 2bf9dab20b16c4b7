// The rounds of IMB-FABRIC.
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "plan/rounds.h"

using namespace openimb;

namespace {

using Number = std::pair<int, int>;

// Counts how often each pair occurs in all rounds, which must be disjoint.
std::map<Number, int> count_pairs(const RoundPlan& plan, int endpoints) {
  std::map<Number, int> count_pairs;
  for (int round = 0; round < plan.count(); ++round) {
    std::set<int> busy;
    for (const auto& [a, b] : plan.pairs(round, 1)) {
      CHECK(a < b);
      CHECK(a >= 0);
      CHECK(b < endpoints);
      CHECK(busy.insert(a).second);
      CHECK(busy.insert(b).second);
      ++count_pairs[{a, b}];
    }
  }
  return count_pairs;
}

FabricOptions options_of(RoundKind kind, int requested_rounds = 0) {
  FabricOptions options;
  options.rounds = kind;
  options.requested_rounds = requested_rounds;
  return options;
}

}  // namespace

TEST_CASE("the circle method has every pair once, in rounds of disjoint pairs") {
  const FabricOptions options = options_of(RoundKind::circle);
  for (const int endpoints : {2, 3, 4, 5, 6, 7, 8, 9, 16, 31, 32, 64, 101}) {
    const RoundPlan plan(options, endpoints);
    CHECK(plan.count() == (endpoints % 2 == 0 ? endpoints - 1 : endpoints));
    const auto all = count_pairs(plan, endpoints);
    CHECK(all.size() == static_cast<std::size_t>(endpoints) * static_cast<std::size_t>(endpoints - 1) / 2);
    for (const auto& [pair, times] : all) CHECK(times == 1);
    for (int round = 0; round < plan.count(); ++round) {
      CHECK(plan.pairs(round, 1).size() == static_cast<std::size_t>(endpoints / 2));
    }
  }
}

TEST_CASE("with -rounds K each endpoint meets K others") {
  for (const int endpoints : {4, 8, 9, 64}) {
    for (const int each : {1, 3}) {
      const FabricOptions options = options_of(RoundKind::some, each);
      std::map<int, int> others;
      for (const auto& [pair, times] : count_pairs(RoundPlan(options, endpoints), endpoints)) {
        CHECK(times == 1);
        ++others[pair.first];
        ++others[pair.second];
      }
      for (int endpoint = 0; endpoint < endpoints; ++endpoint) {
        CHECK(others[endpoint] <= each);
        CHECK(others[endpoint] >= each - endpoints % 2 * each);
        if (endpoints % 2 == 0) CHECK(others[endpoint] == each);
      }
    }
  }
}

TEST_CASE("another seed chooses other pairs") {
  FabricOptions one = options_of(RoundKind::some, 2), other = one;
  other.seed = 2;
  CHECK(RoundPlan(one, 64).pairs(0, 1) == RoundPlan(one, 64).pairs(0, 1));
  CHECK(RoundPlan(one, 64).pairs(0, 1) != RoundPlan(other, 64).pairs(0, 1));
  CHECK(RoundPlan(one, 64).order(1) == RoundPlan(one, 64).order(1));
}

TEST_CASE("each pass has all rounds, in its own order") {
  const FabricOptions options = options_of(RoundKind::circle);
  const RoundPlan plan(options, 64);
  std::vector<int> all(63);
  std::iota(all.begin(), all.end(), 0);
  std::set<std::vector<int>> orders;
  for (int pass = 1; pass <= 10; ++pass) {
    std::vector<int> order = plan.order(pass);
    orders.insert(order);
    std::ranges::sort(order);
    CHECK(order == all);
  }
  CHECK(orders.size() == 10);
}

TEST_CASE("every second pass reverses the direction of each pair") {
  for (const RoundKind kind : {RoundKind::circle, RoundKind::some, RoundKind::halves}) {
    const FabricOptions options = options_of(kind, 3);
    const RoundPlan plan(options, 9);
    for (int round = 0; round < plan.count(); ++round) {
      const EndpointPairs forth = plan.pairs(round, 1);
      EndpointPairs back = plan.pairs(round, 2);
      CHECK(back.size() == forth.size());
      for (EndpointPair& pair : back) {
        CHECK(pair.a > pair.b);
        std::swap(pair.a, pair.b);
      }
      CHECK(back == forth);
      CHECK(plan.pairs(round, 3) == forth);
    }
  }
}

TEST_CASE("pairs with a hub and pairs from a file keep their direction") {
  FabricOptions file = options_of(RoundKind::listed);
  file.listed = {{{3, 1}, {0, 2}}};
  const FabricOptions out = options_of(RoundKind::one_to_all);
  CHECK(RoundPlan(file, 4).pairs(0, 2) == file.listed[0]);
  CHECK(RoundPlan(out, 4).pairs(1, 2) == RoundPlan(out, 4).pairs(1, 1));
}

TEST_CASE("halves: every pair across the halves once, and no other") {
  const FabricOptions options = options_of(RoundKind::halves);
  for (const int endpoints : {2, 3, 4, 7, 8}) {
    const int first = endpoints / 2;
    const auto all = count_pairs(RoundPlan(options, endpoints), endpoints);
    CHECK(all.size() == static_cast<std::size_t>(first) * static_cast<std::size_t>(endpoints - first));
    for (const auto& [pair, times] : all) {
      CHECK(times == 1);
      CHECK(pair.first < first);
      CHECK(pair.second >= first);
    }
  }
}

TEST_CASE("a hub meets all others in its round") {
  const FabricOptions out = options_of(RoundKind::one_to_all), in = options_of(RoundKind::all_to_one);
  const RoundPlan from(out, 4), to(in, 4);
  CHECK(from.count() == 4);
  CHECK(from.has_hub());
  const EndpointPairs pairs = from.pairs(2, 1);
  CHECK(pairs == EndpointPairs{{2, 0}, {2, 1}, {2, 3}});
  CHECK(from.round_partners(pairs, 2).partners == std::vector{0, 1, 3});
  CHECK(from.round_partners(pairs, 2).sends_first);
  CHECK(from.round_partners(pairs, 3).partners == std::vector{2});
  CHECK_FALSE(from.round_partners(pairs, 3).sends_first);
  CHECK_FALSE(to.round_partners(pairs, 2).sends_first);
  CHECK(to.round_partners(pairs, 0).sends_first);
}

TEST_CASE("an endpoint without a partner in a round is idle") {
  const FabricOptions options = options_of(RoundKind::circle);
  const RoundPlan plan(options, 3);
  for (int round = 0; round < 3; ++round) {
    int idle = 0;
    for (int endpoint = 0; endpoint < 3; ++endpoint) {
      idle += plan.round_partners(plan.pairs(round, 1), endpoint).partners.empty() ? 1 : 0;
    }
    CHECK(idle == 1);
  }
}
