// What the operating system counted while a row was measured. It shows what may have disturbed the row, and
// which interfaces carried its messages. The counters are read before and after each sample, outside the
// timed region (system/counter_reader.h).
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace openimb {

/// Indices of the counters in a reading. On one rank of each host they are followed by the bytes sent and
/// received by each of the host's interfaces (RunFacts::interfaces).
enum class Counter : std::size_t {
  voluntary_switches,
  involuntary_switches,
  minor_faults,
  major_faults,
  run_delay,  ///< seconds in which the rank was ready to run and had no CPU
  steal,      ///< seconds in which the hypervisor withheld the host's CPUs; read by one rank of each host
  cpu         ///< number of the CPU on which the rank runs; -1: unknown
};
constexpr std::size_t index_of(Counter counter) { return static_cast<std::size_t>(counter); }
/// Number of values in a reading without interfaces.
inline constexpr std::size_t rank_counters = index_of(Counter::cpu) + 1;

/// A counter that is summed over ranks.
struct SummedCounter {
  Counter counter;
  const char* name;       ///< in records
  bool per_host = false;  ///< one rank of each host reads it
};
/// In the order of the enumeration, without `cpu`.
inline constexpr std::array summed_counters = {
    SummedCounter{Counter::voluntary_switches, "voluntary_switches"},
    SummedCounter{Counter::involuntary_switches, "involuntary_switches"},
    SummedCounter{Counter::minor_faults, "minor_faults"},
    SummedCounter{Counter::major_faults, "major_faults"},
    SummedCounter{Counter::run_delay, "run_delay_seconds"},
    SummedCounter{Counter::steal, "steal_seconds", true},
};
static_assert([] {
  for (std::size_t i = 0; i < summed_counters.size(); ++i) {
    if (index_of(summed_counters[i].counter) != i) return false;
  }
  return summed_counters.size() == index_of(Counter::cpu);
}());

/// One rank's counters since an arbitrary time. NaN: unknown.
using Reading = std::vector<double>;
/// Subtracts two readings. The CPU comes from `after`; it is -2 - CPU if the rank has moved to another CPU.
Reading reading_difference(std::span<const double> before, std::span<const double> after);

struct InterfaceBytes {
  int rank = 0;               ///< the rank that read them
  std::size_t interface = 0;  ///< index into the interfaces of `rank`
  double sent = 0;
  double received = 0;
};

/// The readings of all ranks of a row, combined.
struct Evidence {
  struct Total {
    double sum = 0;
    double most = 0;  ///< largest value of one rank in one sample
    int rank = -1;    ///< the rank with the largest value; -1: all values are 0 or unknown
  };
  std::array<Total, summed_counters.size()> totals = {};
  std::vector<int> moved;                  ///< ranks that changed their CPU
  std::vector<InterfaceBytes> interfaces;  ///< of all hosts; only interfaces that carried data

  Evidence& operator+=(const Evidence& other);
};

/// Combines the readings of a row. `by_rank`: results of reading_difference(), by world rank. `ranks`: the
/// ranks of the row. `readers`: the ranks whose readings of host counters are used; by default all ranks.
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks,
                     std::span<const int> readers);
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks);

}  // namespace openimb
