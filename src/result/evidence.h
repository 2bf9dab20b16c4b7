// What happened to the ranks while a row was measured, beside the time: what may have disturbed it, and which
// way its messages went. Read before and behind each sample, outside the clock (system/evidence.h).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace openimb {

/// Counters of a reading, by place. Behind them stand, of one rank of each host, bytes sent and bytes
/// received by each of the host's interfaces (RunFacts::interfaces).
enum class Counter : std::size_t {
  voluntary_switches,
  involuntary_switches,
  minor_faults,
  major_faults,
  run_delay,  ///< seconds that the rank was ready to run and did not
  steal,      ///< seconds that the host's CPUs were taken away from it; of one rank of each host
  cpu         ///< on which the rank runs; -1: unknown
};
inline constexpr std::size_t summed_counters = 6;  ///< the first ones add up
inline constexpr std::array<const char*, summed_counters> counter_names = {
    "voluntary_switches", "involuntary_switches", "minor_faults",
    "major_faults",       "run_delay_seconds",    "steal_seconds"};

/// One rank's counters since some start. NaN: unknown.
using Reading = std::vector<double>;
/// From one reading to the next; the CPU is the last one, or -2 - CPU where the rank has
/// moved there.
Reading between(std::span<const double> before, std::span<const double> after);

struct InterfaceBytes {
  int rank = 0;               ///< that read it
  std::size_t interface = 0;  ///< index into this rank's interfaces
  double sent = 0;
  double received = 0;
};

/// Of all ranks that a row is about.
struct Evidence {
  struct Total {
    double sum = 0;
    double most = 0;  ///< on one rank in one sample
    int rank = -1;    ///< with the most; -1: none has any
  };
  std::array<Total, summed_counters> totals = {};
  std::vector<int> moved;                  ///< ranks that changed their CPU
  std::vector<InterfaceBytes> interfaces;  ///< those that carried anything, of all hosts

  Evidence& operator+=(const Evidence& other);
};

/// `by_rank`: what between() gave, by world rank; `ranks`: those of the row; `readers`: ranks whose readings
/// of their hosts count. Without them those of all hosts do.
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks,
                     std::span<const int> readers);
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks);

}  // namespace openimb
