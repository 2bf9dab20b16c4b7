// Waits for a time of MPI's clock, and measures the tick of a clock.
#pragma once

namespace openimb {

/// Returns as soon as `now` has reached `until`, in seconds. It polls the clock; on simulated ranks it
/// sleeps, because their clock does not advance during polling.
void wait_until(double until, double (*now)());

/// The seconds by which a clock advances, or the time of a reading if that is longer. It is measured because
/// MPI_Wtick is wrong in some MPIs.
double measured_tick(double (*now)());

}  // namespace openimb
