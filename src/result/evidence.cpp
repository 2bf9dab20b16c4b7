#include "result/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace openimb {

namespace {

constexpr std::size_t cpu_index = index_of(Counter::cpu);

void add_value(Evidence::Total& total, double value, int rank) {
  if (!(value > 0)) return;
  total.sum += value;
  if (value <= total.most) return;
  total.most = value;
  total.rank = rank;
}

// Adds the counters of a rank or, if `per_host`, of its host.
void add_counters(Evidence& evidence, const Reading& change, int rank, bool per_host) {
  for (const SummedCounter& summed : summed_counters) {
    const std::size_t i = index_of(summed.counter);
    if (summed.per_host == per_host) add_value(evidence.totals[i], change[i], rank);
  }
}

}  // namespace

Reading reading_difference(std::span<const double> before, std::span<const double> after) {
  Reading change(after.begin(), after.end());
  for (std::size_t i = 0; i < change.size(); ++i) {
    if (i != cpu_index) change[i] -= before[i];
  }
  if (change.size() > cpu_index && before[cpu_index] >= 0 && before[cpu_index] != after[cpu_index]) {
    change[cpu_index] = -2 - after[cpu_index];
  }
  return change;
}

Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks) {
  std::vector<int> all(by_rank.size());
  std::iota(all.begin(), all.end(), 0);
  return evidence_of(by_rank, ranks, all);
}

Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks,
                     std::span<const int> readers) {
  Evidence evidence;
  for (const int rank : ranks) {
    const Reading& change = by_rank[static_cast<std::size_t>(rank)];
    if (change.size() < rank_counters) continue;
    add_counters(evidence, change, rank, false);
    if (change[cpu_index] < -1) evidence.moved.push_back(rank);
  }
  for (const int rank : readers) {
    const Reading& change = by_rank[static_cast<std::size_t>(rank)];
    if (change.size() < rank_counters) continue;
    add_counters(evidence, change, rank, true);
    for (std::size_t i = rank_counters; i + 1 < change.size(); i += 2) {
      if (!(change[i] > 0) && !(change[i + 1] > 0)) continue;
      evidence.interfaces.push_back(
          {rank, (i - rank_counters) / 2, std::max(0.0, change[i]), std::max(0.0, change[i + 1])});
    }
  }
  return evidence;
}

Evidence& Evidence::operator+=(const Evidence& other) {
  for (std::size_t i = 0; i < totals.size(); ++i) {
    Total& mine = totals[i];
    const Total& theirs = other.totals[i];
    mine.sum += theirs.sum;
    if (theirs.most > mine.most) {
      mine.most = theirs.most;
      mine.rank = theirs.rank;
    }
  }
  for (const int rank : other.moved) {
    if (std::ranges::find(moved, rank) == moved.end()) moved.push_back(rank);
  }
  for (const InterfaceBytes& bytes : other.interfaces) {
    const auto same = std::ranges::find_if(interfaces, [&](const InterfaceBytes& candidate) {
      return candidate.rank == bytes.rank && candidate.interface == bytes.interface;
    });
    if (same == interfaces.end()) {
      interfaces.push_back(bytes);
    } else {
      same->sent += bytes.sent;
      same->received += bytes.received;
    }
  }
  return *this;
}

}  // namespace openimb
