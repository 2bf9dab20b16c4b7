// Socket, NUMA node and core of a CPU.
#pragma once

namespace openimb::system {

/// Numbers of the operating system; -1: unknown. A core's number is unique within its socket.
struct CpuPlace {
  int socket = -1;
  int numa = -1;
  int core = -1;
};
CpuPlace place_of_cpu(int cpu);

}  // namespace openimb::system
