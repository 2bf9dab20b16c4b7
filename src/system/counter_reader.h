// Counters of the operating system that show whether a sample may have been disturbed.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace openimb::system {

/// Counters of one thread since it started. The difference of two readings shows what happened in between. A
/// counter is NaN if the system does not report it. Some systems report 0 for events that they do not count.
struct ThreadCounters {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  double voluntary_switches = unknown;    ///< the thread waited for something (getrusage: ru_nvcsw)
  double involuntary_switches = unknown;  ///< the scheduler preempted the thread (ru_nivcsw)
  double minor_faults = unknown;          ///< page faults without input or output (ru_minflt)
  double major_faults = unknown;          ///< page faults that read a storage device (ru_majflt)
  double run_delay_seconds = unknown;     ///< ready to run, but waiting for a CPU (Linux 3.17: schedstat)
  int cpu = -1;                           ///< CPU on which the thread runs now; -1: unknown
};

/// Where counters are read, and the CPUs whose steal time counts.
struct CounterSources {
  std::string proc = "/proc", sys = "/sys";
  /// Empty: the CPUs on which the constructing thread may run at that time. A rank that is bound to a CPU
  /// reports the steal time of the whole host only if it gets the CPUs of all ranks of the host.
  std::vector<int> cpus;
};

/// Reads counters at small cost: files stay open, and reading neither allocates nor throws. Counters are
/// unknown if there is no Linux /proc and /sys, or no free file descriptor. The thread that constructs it
/// should use it.
class CounterReader {
 public:
  /// `host`: also read the counters of the whole host. Only one process of each host should, because that
  /// takes longer.
  explicit CounterReader(bool host, const CounterSources& sources = {});
  ~CounterReader();
  CounterReader(CounterReader&&) noexcept;
  CounterReader& operator=(CounterReader&&) noexcept;

  /// Counters of the calling thread, or of the process if the system has none of threads. Only the
  /// constructing thread gets a run delay.
  ThreadCounters thread() const noexcept;

  /// At most this many interfaces are read: physical ones and loopback first, then the ones with the most
  /// traffic.
  static constexpr std::size_t max_interfaces = 64;
  /// Names of network interfaces, then of ports of RDMA devices ("mlx5_0", or "mlx5_0:1" if there are several
  /// ports), at the time of construction. Empty unless `host`.
  const std::vector<std::string>& interfaces() const noexcept;
  /// Reads bytes sent and bytes received by each of interfaces(), in this order: two values per interface. A
  /// shorter span gets the first values. Network interfaces count what passes through the kernel
  /// (/proc/net/dev). RDMA devices count all data on the port (port_xmit_data and port_rcv_data, in units of
  /// 4 bytes; some old devices stop at 2^32 units). Each layer counts the traffic that passes it, for example
  /// a bond and its members. A counter that can no longer be read keeps its last value; it is NaN if it never
  /// could be read. A counter falls when its driver resets it.
  void traffic(std::span<double> bytes) noexcept;

  /// Steal time: seconds in which CPUs of a virtual machine were ready to run, but waited for the hypervisor.
  /// The sum is over the CPUs of CounterSources that were online at construction (/proc/stat, usually in
  /// units of 10 ms). It is read at most every 20 ms; in between, the last value is returned. 0 unless
  /// `host`; NaN if the system does not report it.
  double steal_seconds() noexcept;

 private:
  struct Host;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace openimb::system
