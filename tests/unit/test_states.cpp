// States of a machine in simulated series of probes: all states are found, and a single one is not split.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "chance.h"
#include "result/states.h"

using namespace openimb;

namespace {

constexpr int probes = 200;
constexpr int series = 6;

/// Makes a series of probes from a function that gives each probe.
template <class Make>
std::vector<MachineStates> find_in_runs(Make make) {
  std::vector<MachineStates> found;
  for (unsigned seed = 1; seed <= series; ++seed) {
    RandomNumbers chance(seed);
    std::vector<double> values;
    for (int i = 0; i < probes; ++i) values.push_back(make(chance, i));
    found.push_back(find_states(values));
  }
  return found;
}

template <class Make>
bool always_one_state(Make make) {
  for (const MachineStates& each : find_in_runs(make)) {
    if (each.states.size() != 1) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("a single state is not split") {
  CHECK(always_one_state([](RandomNumbers&, int) { return 2e-6; }));
  CHECK(always_one_state([](RandomNumbers& c, int) { return std::exp(0.05 * c.normal()); }));
  CHECK(always_one_state([](RandomNumbers& c, int) { return 1 + 0.1 * c.exponential(); }));
  CHECK(always_one_state(
      [](RandomNumbers& c, int) { return std::round(20 * std::exp(0.05 * c.normal())) / 20; }));
}

TEST_CASE("rare disturbances are not a state") {
  CHECK(always_one_state([](RandomNumbers& c, int) {
    const double steady = std::exp(0.03 * c.normal());
    return c.uniform() < 0.04 ? steady * (1.5 + 8 * c.uniform()) : steady;
  }));
}

TEST_CASE("a drift is one state") {
  CHECK(always_one_state(
      [](RandomNumbers& c, int i) { return std::exp(0.4 * i / probes + 0.03 * c.normal()); }));
  double value = 0;
  CHECK(always_one_state([&value](RandomNumbers& c, int i) {
    value = i == 0 ? 0 : 0.95 * value + 0.3 * c.normal();
    return std::exp(0.05 * value);
  }));
}

TEST_CASE("two states are found") {
  const auto slow = [](int i) { return (i / 40) % 2 == 1; };
  for (const double factor : {1.35, 2.5}) {
    const auto all = find_in_runs(
        [&](RandomNumbers& c, int i) { return 1e-6 * (slow(i) ? factor : 1) * std::exp(0.04 * c.normal()); });
    for (const MachineStates& each : all) {
      REQUIRE(each.states.size() == 2);
      CHECK(std::abs(each.states[0].level / 1e-6 - 1) < 0.03);
      CHECK(std::abs(each.states[1].level / (factor * 1e-6) - 1) < 0.03);
      CHECK(std::abs(each.states[0].share - 0.6) < 0.03);
      CHECK(std::abs(each.states[1].dwell - 40) < 3);
      int wrong = 0;
      for (int i = 0; i < probes; ++i)
        wrong += each.state_by_probe[static_cast<std::size_t>(i)] != int{slow(i)};
      CHECK(wrong <= 2);
    }
  }
}

TEST_CASE("a state of short visits is found") {
  for (const MachineStates& each : find_in_runs([](RandomNumbers& c, int i) {
         return ((i / 6) % 3 == 0 ? 2.0 : 1.0) * std::exp(0.04 * c.normal());
       })) {
    CHECK(each.states.size() == 2);
  }
}

TEST_CASE("three states are found") {
  constexpr double levels[] = {1.6, 1, 2.6, 1};
  for (const MachineStates& each : find_in_runs(
           [&](RandomNumbers& c, int i) { return levels[(i / 25) % 4] * std::exp(0.04 * c.normal()); })) {
    REQUIRE(each.states.size() == 3);
    CHECK(std::abs(each.states[0].share - 0.5) < 0.03);
  }
}

TEST_CASE("few probes say nothing about states") {
  CHECK(find_states({}).states.empty());
  const std::vector<double> few{1, 1, 1, 3, 3, 3};
  const MachineStates found = find_states(few);
  REQUIRE(found.states.size() == 1);
  CHECK(found.state_by_probe == std::vector<int>(few.size(), 0));
}
