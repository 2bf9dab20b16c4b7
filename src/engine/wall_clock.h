#pragma once

#include <mpi.h>

#include <chrono>

namespace openimb {

/// The clock of all reported times, except where threads take turns (TurnClock).
struct WallClock {
  static double now() { return MPI_Wtime(); }
  /// Seconds, as MPI reports them; measured if MPI reports none (Intel MPI 2021.19 for Windows).
  static double resolution();
};

/// The clock of threads that take turns in MPI: MPI_Wtime is also a call of MPI, and threads read the clock
/// while another one has its turn.
struct TurnClock {
  using Source = std::chrono::steady_clock;
  static double now() { return std::chrono::duration<double>(Source::now().time_since_epoch()).count(); }
  static double resolution() { return std::chrono::duration<double>(Source::duration(1)).count(); }
};

/// The clock of a step: its own, or else WallClock.
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
