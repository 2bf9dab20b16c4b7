// What the operating system counted while a sample was timed: reasons for which the sample may be disturbed.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace openimb::system {

/// Counters of one thread since it started; the difference of two readings is what happened in between.
/// NaN where the system does not report a counter. Some systems report 0 for what they do not count.
struct ThreadCounters {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  double voluntary_switches = unknown;    ///< the thread waited for something (getrusage: ru_nvcsw)
  double involuntary_switches = unknown;  ///< the scheduler preempted the thread (ru_nivcsw)
  double minor_faults = unknown;          ///< page faults without input or output (ru_minflt)
  double major_faults = unknown;          ///< page faults that read a storage device (ru_majflt)
  double run_delay_seconds = unknown;     ///< ready to run, but waiting for a CPU (Linux 3.17: schedstat)
  int cpu = -1;                           ///< where the thread runs now; -1 where unknown
};

/// Where counters are read, and of which CPUs.
struct CounterSources {
  std::string proc = "/proc", sys = "/sys";
  /// CPUs whose steal time counts; empty: those on which the thread that makes the CounterReader may run at
  /// that time. A rank that is bound to a CPU reports the whole host only if it is given the CPUs of all its
  /// ranks.
  std::vector<int> cpus;
};

/// Reads counters, at small cost: files are opened once and stay open. Reading neither allocates nor throws.
/// Without Linux's /proc and /sys, or without free file descriptors, counters are unknown. For use by the
/// thread that makes it.
class CounterReader {
 public:
  /// `host`: also read what is common to the host. One process of each host should, as that is less cheap.
  explicit CounterReader(bool host, const CounterSources& sources = {});
  ~CounterReader();
  CounterReader(CounterReader&&) noexcept;
  CounterReader& operator=(CounterReader&&) noexcept;

  /// Counters of the calling thread; of the process where the system has none of threads. A thread other than
  /// the one that made this object gets no run delay.
  ThreadCounters thread() const noexcept;

  /// At most so many interfaces are read: first physical ones and loopback, then those with most traffic.
  static constexpr std::size_t most_interfaces = 64;
  /// Network interfaces, then ports of RDMA devices ("mlx5_0", or "mlx5_0:1" if there are several ports), as
  /// they were when this object was made. Empty unless `host`.
  const std::vector<std::string>& interfaces() const noexcept;
  /// Bytes sent and bytes received by each of interfaces(), in this order: two values per interface; a
  /// shorter span gets the first ones. Network interfaces count what passes through the kernel
  /// (/proc/net/dev), RDMA devices all data on the port (port_xmit_data and port_rcv_data, in units of 4
  /// bytes; some old devices stop at 2^32 units). Traffic is counted by each layer it passes, for example by
  /// a bond and by its members. A counter that can no longer be read keeps its last value; NaN if it never
  /// could be read. A counter falls when its driver resets it.
  void traffic(std::span<double> bytes) noexcept;

  /// Steal time: how long CPUs of a virtual machine were ready to run, but waited for the hypervisor. The sum
  /// over the CPUs of CounterSources that were online when this object was made (/proc/stat; its unit is
  /// 10 ms on usual systems). It is read at most every 20 ms; between that, the last value is returned.
  /// 0 unless `host`; NaN where the system does not report it.
  double steal_seconds() noexcept;

 private:
  struct Host;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace openimb::system
