#pragma once

#include <mpi.h>

#include <chrono>

namespace openimb {

/// The clock of all reported times, except if threads take turns (TurnClock).
struct WallClock {
  static double now() { return MPI_Wtime(); }
  /// Resolution in seconds that MPI_Wtick reports; measured if MPI reports none (Intel MPI 2021.19 for
  /// Windows).
  static double resolution();
};

/// The clock of threads that take turns in MPI. They cannot use MPI_Wtime: it is also an MPI call, and a
/// thread reads the clock while another thread has its turn.
struct TurnClock {
  using Source = std::chrono::steady_clock;
  static double now() { return std::chrono::duration<double>(Source::now().time_since_epoch()).count(); }
  static double resolution() { return std::chrono::duration<double>(Source::duration(1)).count(); }
};

/// The clock of a step: Step::Clock or, if the step has none, WallClock.
template <class Step>
struct ClockOfStep {
  using Type = WallClock;
};
template <class Step>
  requires requires { typename Step::Clock; }
struct ClockOfStep<Step> {
  using Type = typename Step::Clock;
};
template <class Step>
using ClockOf = typename ClockOfStep<Step>::Type;

}  // namespace openimb
