#include "result/evidence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace openimb {

namespace {

constexpr auto cpu_index = static_cast<std::size_t>(Counter::cpu);
constexpr auto steal_index = static_cast<std::size_t>(Counter::steal);
constexpr std::size_t first_interface = cpu_index + 1;

void include(Evidence::Total& total, double value, int rank) {
  if (!(value > 0)) return;
  total.sum += value;
  if (value <= total.most) return;
  total.most = value;
  total.rank = rank;
}

}  // namespace

Reading between(std::span<const double> before, std::span<const double> after) {
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
    if (change.size() < first_interface) continue;
    for (std::size_t i = 0; i < summed_counters; ++i) {
      if (i != steal_index) include(evidence.totals[i], change[i], rank);
    }
    if (change[cpu_index] < -1) evidence.moved.push_back(rank);
  }
  for (const int rank : readers) {
    const Reading& change = by_rank[static_cast<std::size_t>(rank)];
    if (change.size() < first_interface) continue;
    include(evidence.totals[steal_index], change[steal_index], rank);
    for (std::size_t i = first_interface; i + 1 < change.size(); i += 2) {
      if (!(change[i] > 0) && !(change[i + 1] > 0)) continue;
      evidence.interfaces.push_back(
          {rank, (i - first_interface) / 2, std::max(0.0, change[i]), std::max(0.0, change[i + 1])});
    }
  }
  return evidence;
}

Evidence& Evidence::operator+=(const Evidence& other) {
  for (std::size_t i = 0; i < summed_counters; ++i) {
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
