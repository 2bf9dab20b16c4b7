// How readings of counters become the evidence of a row.
#include <catch2/catch.hpp>
#include <cmath>

#include "result/evidence.h"

using namespace openimb;

namespace {

Reading reading(double voluntary, double involuntary, double delay, double steal, double cpu) {
  return {voluntary, involuntary, 0, 0, delay, steal, cpu};
}

const Evidence::Total& total(const Evidence& evidence, Counter counter) {
  return evidence.totals[static_cast<std::size_t>(counter)];
}

}  // namespace

TEST_CASE("a row has the sum over its ranks, the worst of them, and no others") {
  const std::vector<Reading> ranks = {reading(1, 2, 0.5, 0, 0), reading(0, 5, 0.25, 0, 1),
                                      reading(9, 9, 9, 0, 2)};
  const std::vector<int> mine = {0, 1};
  const Evidence evidence = evidence_of(ranks, mine);
  CHECK(total(evidence, Counter::involuntary_switches).sum == 7);
  CHECK(total(evidence, Counter::involuntary_switches).most == 5);
  CHECK(total(evidence, Counter::involuntary_switches).rank == 1);
  CHECK(total(evidence, Counter::run_delay).rank == 0);
  CHECK(total(evidence, Counter::minor_faults).rank == -1);
}

TEST_CASE("steal time and interfaces belong to a host, whichever rank reads them") {
  std::vector<Reading> ranks = {reading(0, 0, 0, 0.25, 0), reading(0, 0, 0, 0, 1)};
  ranks[0].insert(ranks[0].end(), {0, 0, 100, 200});
  const std::vector<int> mine = {1};
  const Evidence evidence = evidence_of(ranks, mine);
  CHECK(total(evidence, Counter::steal).sum == 0.25);
  REQUIRE(evidence.interfaces.size() == 1);
  CHECK(evidence.interfaces[0].interface == 1);
  CHECK(evidence.interfaces[0].sent == 100);
  CHECK(evidence.interfaces[0].received == 200);
}

TEST_CASE("with readers, steal time and interfaces come only from their hosts") {
  std::vector<Reading> ranks = {reading(0, 0, 0, 0.25, 0), reading(0, 0, 0, 0.5, 0), reading(0, 0, 0, 1, 0)};
  for (Reading& one : ranks) one.insert(one.end(), {100, 200});
  const std::vector<int> mine = {1, 2}, readers = {1};
  const Evidence evidence = evidence_of(ranks, mine, readers);
  CHECK(total(evidence, Counter::steal).sum == 0.5);
  REQUIRE(evidence.interfaces.size() == 1);
  CHECK(evidence.interfaces[0].rank == 1);
}

TEST_CASE("a rank that changed its CPU is named") {
  const Reading before = reading(1, 1, 1, 0, 0), stayed = reading(3, 1, 1, 0, 0),
                moved = reading(1, 1, 1, 0, 3);
  const std::vector<Reading> ranks = {reading_difference(before, stayed), reading_difference(before, moved)};
  const std::vector<int> mine = {0, 1};
  const Evidence evidence = evidence_of(ranks, mine);
  CHECK(evidence.moved == std::vector{1});
  CHECK(total(evidence, Counter::voluntary_switches).sum == 2);
}

TEST_CASE("unknown counters do not count") {
  const double unknown = std::nan("");
  const Reading nothing = {unknown, unknown, unknown, unknown, unknown, unknown, -1};
  const std::vector<Reading> ranks = {reading_difference(nothing, nothing)};
  const std::vector<int> mine = {0};
  const Evidence evidence = evidence_of(ranks, mine);
  CHECK(total(evidence, Counter::voluntary_switches).rank == -1);
  CHECK(evidence.moved.empty());
}

TEST_CASE("evidence of samples adds up") {
  std::vector<Reading> ranks = {reading(1, 0, 0, 0, 0)};
  ranks[0].insert(ranks[0].end(), {10, 0});
  const std::vector<int> mine = {0};
  Evidence sum = evidence_of(ranks, mine);
  sum += evidence_of(ranks, mine);
  CHECK(total(sum, Counter::voluntary_switches).sum == 2);
  REQUIRE(sum.interfaces.size() == 1);
  CHECK(sum.interfaces[0].sent == 20);
}
