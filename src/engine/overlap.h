// A nonblocking operation with computation between its start and its wait. Source: guide, "Measuring
// Communication and Computation Overlap".
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "engine/cpu_load.h"
#include "engine/device_load.h"
#include "engine/timed_loop.h"
#include "plan/attributes.h"
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

/// A repetition of a pattern that has `post`. The two clock reads are what t_CPU costs. MPI_Test of what has
/// no request returns at once.
template <class Pattern, class Clock>
struct WithLoad : LoopBase {
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
    Pattern::finish(c.inner, lap, view..., &request);
  }
  template <class Context, class... View>
  static void close(const Loaded<Context>& c, const View&... view) {
    Pattern::close(c.inner, view...);
  }
};

/// -load device: the GPU computes, and the host calls MPI_Test `tests` times at equal distances while it
/// does. t_CPU begins before the launch and ends when the host knows that the kernel is done.
struct DeviceLoadPlan {
  DeviceLoad& load;
  LoadUse& use;

  template <class Clock>
  void compute(MPI_Request& request) const {
    const double start = Clock::now();
    Device& device = load.device();
    device.start_load(use.units);
    const double distance = load.seconds_for(use.units) / (use.tests + 1);
    for (int i = 1; i <= use.tests; ++i) {
      while (Clock::now() - start < i * distance && !device.load_is_done()) {
      }
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    device.wait_for_load();
    use.computing += Clock::now() - start;
  }
};

/// As drive(), of repetitions in which the GPU computes. Each takes microseconds at least, so that one loop
/// serves all ways to time them. An error of the driver ends the job: other ranks, and threads of this one,
/// wait for what this one would have done.
template <class Pattern, class Clock, class Context, class Movement, class Barrier, class... View>
OPENIMB_NOINLINE double drive_beside_device(const Context& c, Movement laps, std::int64_t repetitions,
                                            Timing timing, std::span<double> samples, const Barrier& barrier,
                                            const DeviceLoadPlan& load, const View&... view) noexcept {
  const double start = Clock::now();
  double begin = start, sum = 0;
  for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
    if (timing == Timing::synchronized) {
      barrier();
      begin = Clock::now();
    }
    MPI_Request request;
    Pattern::open(c);
    Pattern::post(c, laps.lap(), view..., &request);
    load.template compute<Clock>(request);
    Pattern::finish(c, laps.lap(), view..., &request);
    Pattern::close(c, view...);
    if (timing == Timing::total) continue;
    const double end = Clock::now();
    samples[static_cast<std::size_t>(i)] = end - begin;
    sum += end - begin;
    begin = end;
  }
  return timing == Timing::synchronized ? sum : Clock::now() - start;
}

}  // namespace openimb
