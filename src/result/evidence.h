// What the operating system counted while a row was measured: what may have disturbed it, and which
// interfaces its messages took. Read before and after each sample, outside the clock (system/counter_reader.h).
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
  cpu         ///< on which the rank runs; -1: unknown
};
inline constexpr std::size_t summed_counters = 6;  ///< the first counters are summed over ranks
inline constexpr std::array<const char*, summed_counters> counter_names = {
    "voluntary_switches", "involuntary_switches", "minor_faults",
    "major_faults",       "run_delay_seconds",    "steal_seconds"};

/// One rank's counters since an arbitrary start. NaN: unknown.
using Reading = std::vector<double>;
/// The differences of two readings. The CPU is that of the later one, or -2 - CPU where the rank has moved.
Reading between(std::span<const double> before, std::span<const double> after);

struct InterfaceBytes {
  int rank = 0;               ///< that read it
  std::size_t interface = 0;  ///< index into this rank's interfaces
  double sent = 0;
  double received = 0;
};

/// The readings of all ranks of a row, combined.
struct Evidence {
  struct Total {
    double sum = 0;
    double most = 0;  ///< on one rank in one sample
    int rank = -1;    ///< with the most; -1: none has any
  };
  std::array<Total, summed_counters> totals = {};
  std::vector<int> moved;                  ///< ranks that changed their CPU
  std::vector<InterfaceBytes> interfaces;  ///< those of all hosts that carried any data

  Evidence& operator+=(const Evidence& other);
};

/// `by_rank`: results of between(), by world rank. `ranks`: those of the row. `readers`: ranks whose readings
/// of their hosts are used; without them, those of all hosts.
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks,
                     std::span<const int> readers);
Evidence evidence_of(std::span<const Reading> by_rank, std::span<const int> ranks);

}  // namespace openimb
