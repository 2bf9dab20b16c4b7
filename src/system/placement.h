// Where in the machine a CPU is.
#pragma once

namespace openimb::system {

/// Numbers of the operating system; -1: unknown. A core's is unique within its socket.
struct CpuPlace {
  int socket = -1;
  int numa = -1;
  int core = -1;
};
CpuPlace place_of_cpu(int cpu);

}  // namespace openimb::system
