// Loops with computation between the start of an operation and the wait for it. Source: guide, "Measuring
// Communication and Computation Overlap".
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "engine/cpu_load.h"
#include "engine/device_load.h"
#include "engine/timed_loop.h"
#include "model/attributes.h"
#include "session/batch.h"

namespace openimb {

/// The computation of a rank in each repetition: `tests` parts of `units_between` units, each followed by
/// MPI_Test, and a last part of `units_last` units.
struct LoadPlan {
  CpuLoad* cpu = nullptr;
  std::int64_t units_between = 0;
  std::int64_t units_last = 0;
  int tests = 0;
  double* seconds = nullptr;  ///< sum of the time of all parts and calls of MPI_Test
};

inline LoadPlan plan_load(CpuLoad& cpu, LoadUse& use) {
  const std::int64_t between = use.units / (use.tests + 1);
  return {&cpu, between, use.units - between * use.tests, use.tests, &use.computing};
}

template <class Context>
struct LoadContext {
  Context inner;
  LoadPlan load;
};

/// The loop of a pattern with `post` and computation. Measuring t_CPU costs two clock reads per repetition.
/// MPI_Test of a null request returns at once.
template <class Pattern, class Clock>
struct LoadLoop : LoopBase {
  template <class Context, class... View>
  static void step(const LoadContext<Context>& c, const Iteration& it, const View&... view) {
    MPI_Request request;
    Pattern::post(c.inner, it, view..., &request);
    const double start = Clock::now();
    for (int i = 0; i < c.load.tests; ++i) {
      int done = 0;
      c.load.cpu->compute(c.load.units_between);
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    c.load.cpu->compute(c.load.units_last);
    *c.load.seconds += Clock::now() - start;
    Pattern::finish(c.inner, it, view..., &request);
  }
  template <class Context, class... View>
  static void close(const LoadContext<Context>& c, const View&... view) {
    Pattern::close(c.inner, view...);
  }
};

/// -load device: the GPU computes while the host calls MPI_Test `tests` times at equal intervals. t_CPU
/// begins before the launch of the kernel and ends when the host knows that the kernel is done.
struct DeviceLoadPlan {
  DeviceLoad& load;
  LoadUse& use;

  template <class Clock>
  void compute(MPI_Request& request) const {
    const double start = Clock::now();
    Device& device = load.device();
    device.start_load(use.units);
    const double interval = load.seconds_for(use.units) / (use.tests + 1);
    for (int i = 1; i <= use.tests; ++i) {
      while (Clock::now() - start < i * interval && !device.load_is_done()) {
      }
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    device.wait_for_load();
    use.computing += Clock::now() - start;
  }
};

/// Like drive(), but the GPU computes in each repetition. A repetition takes microseconds or more, so one
/// loop can serve all kinds of timing. An error of the driver ends the job (noexcept), because other ranks,
/// and other threads of this rank, would otherwise wait forever.
template <class Pattern, class Clock, class Context, class Movement, class Barrier, class... View>
OPENIMB_NOINLINE double drive_with_device_load(const Context& c, Movement iterations,
                                               std::int64_t repetitions, Timing timing,
                                               std::span<double> repetition_seconds, const Barrier& barrier,
                                               const DeviceLoadPlan& load, const View&... view) noexcept {
  const double start = Clock::now();
  double begin = start, sum = 0;
  for (std::int64_t i = 0; i < repetitions; ++i, iterations.advance()) {
    if (timing == Timing::synchronized) {
      barrier();
      begin = Clock::now();
    }
    MPI_Request request;
    Pattern::open(c);
    Pattern::post(c, iterations.current(), view..., &request);
    load.template compute<Clock>(request);
    Pattern::finish(c, iterations.current(), view..., &request);
    Pattern::close(c, view...);
    if (timing == Timing::total) continue;
    const double end = Clock::now();
    repetition_seconds[static_cast<std::size_t>(i)] = end - begin;
    sum += end - begin;
    begin = end;
  }
  return timing == Timing::synchronized ? sum : Clock::now() - start;
}

}  // namespace openimb
