// A nonblocking operation with computation between its start and its wait. Source: guide, "Measuring
// Communication and Computation Overlap".
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/cpu_load.h"
#include "engine/timed_loop.h"

namespace openimb {

/// What a rank computes in each repetition: `tests` parts with a call of MPI_Test behind each, and a last
/// one.
struct Load {
  CpuLoad* cpu = nullptr;
  std::int64_t units_between = 0;
  std::int64_t units_last = 0;
  int tests = 0;
  double* seconds = nullptr;  ///< the time of it all is added here
};

inline Load make_load(CpuLoad& cpu, std::int64_t units, int tests, double& seconds) {
  const std::int64_t between = units / (tests + 1);
  return {&cpu, between, units - between * tests, tests, &seconds};
}

template <class Context>
struct Loaded {
  Context group;
  Load load;
};

/// A repetition of a pattern that has `post`, and `finish` where a wait for the request is not enough. The
/// two clock reads are what t_CPU costs. MPI_Test of what has no request returns at once.
template <class Pattern, class Clock>
struct WithLoad {
  template <class Context>
  static void step(const Loaded<Context>& c, const Lap& lap) {
    MPI_Request request;
    Pattern::post(c.group, lap, &request);
    const double start = Clock::now();
    for (int i = 0; i < c.load.tests; ++i) {
      int done = 0;
      c.load.cpu->compute(c.load.units_between);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    c.load.cpu->compute(c.load.units_last);
    *c.load.seconds += Clock::now() - start;
    if constexpr (requires { Pattern::finish(c.group, lap, &request); }) {
      Pattern::finish(c.group, lap, &request);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  template <class Context>
  static void close(const Loaded<Context>& c)
    requires requires { Pattern::close(c.group); }
  {
    Pattern::close(c.group);
  }
};

}  // namespace openimb
