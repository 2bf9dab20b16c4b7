// A nonblocking operation with computation between its start and its wait. Source: guide, "Measuring
// Communication and Computation Overlap".
#pragma once

#include <mpi.h>

#include <cstdint>

#include "engine/cpu_load.h"
#include "engine/timed_loop.h"
#include "session/batch.h"

namespace openimb {

/// What a rank computes in each repetition: `tests` parts with a call of MPI_Test behind each, and a last
/// one.
struct LoadPlan {
  CpuLoad* cpu = nullptr;
  std::int64_t units_between = 0;
  std::int64_t units_last = 0;
  int tests = 0;
  double* seconds = nullptr;  ///< the time of it all is added here
};

inline LoadPlan plan_load(CpuLoad& cpu, LoadUse& use) {
  const std::int64_t between = use.units / (use.tests + 1);
  return {&cpu, between, use.units - between * use.tests, use.tests, &use.computing};
}

template <class Context>
struct Loaded {
  Context inner;
  LoadPlan load;
};

/// A repetition of a pattern that has `post`, and `finish` where a wait for the request is not enough. The
/// two clock reads are what t_CPU costs. MPI_Test of what has no request returns at once.
template <class Pattern, class Clock>
struct WithLoad {
  template <class Context, class... View>
  static void step(const Loaded<Context>& c, const Lap& lap, const View&... view) {
    MPI_Request request;
    Pattern::post(c.inner, lap, view..., &request);
    const double start = Clock::now();
    for (int i = 0; i < c.load.tests; ++i) {
      int done = 0;
      c.load.cpu->compute(c.load.units_between);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    c.load.cpu->compute(c.load.units_last);
    *c.load.seconds += Clock::now() - start;
    if constexpr (requires { Pattern::finish(c.inner, lap, view..., &request); }) {
      Pattern::finish(c.inner, lap, view..., &request);
    } else {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  template <class Context>
  static void close(const Loaded<Context>& c)
    requires requires { Pattern::close(c.inner); }
  {
    Pattern::close(c.inner);
  }
};

}  // namespace openimb
