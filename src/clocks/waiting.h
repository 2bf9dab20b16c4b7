// Waiting for a time of MPI's clock.
#pragma once

namespace openimb {

/// Returns as soon as `now` has reached `until`: it polls the clock, and sleeps on simulated ranks, whose
/// clock stands still meanwhile.
void wait_until(double until, double (*now)());

/// The step in which a clock advances, or the time of reading it where that is longer. MPI_Wtick is wrong in
/// some MPIs.
double measured_tick(double (*now)());

}  // namespace openimb
