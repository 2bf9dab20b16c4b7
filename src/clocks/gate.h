// The gate before each repetition with -sync_start clock: ranks agree on a time a little later than now, and
// each waits for it by its own clock. Nothing is sent between that time and the repetition. The messages of
// the agreement are the gate's own, so that they are the same whatever algorithms -alternate sets. Source:
// the round-time scheme of ReproMPI (Hunold and Carpen-Amarie, IEEE TPDS 27, 2016).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "clocks/mpi_clock.h"
#include "clocks/slack.h"
#include "model/arrival.h"

namespace openimb {

class Gate {
 public:
  /// `comm`: the ranks of a group, for no other messages at the same time. Both outlive the gate.
  Gate(MPI_Comm comm, const MpiClock& clock);
  void set_arrival(const Arrival& arrival) { arrival_ = arrival; }
  /// Before the first of some repetitions.
  void open();
  /// Waits for the start of a repetition. `stamps`: room for its stamps (session/batch.h), after the stamps
  /// of the previous repetition. Sets the first one.
  void wait(double* stamps);

 private:
  /// Each rank gets the largest value of any rank.
  struct Agreement {
    double latest = 0;  ///< common time at which a rank arrived at the gate
    double needed = 0;  ///< seconds from then to the end of the agreement before
    double late = 0;    ///< 1: a rank was late for the start before
  };
  Agreement agree(bool late);

  const MPI_Comm comm_;
  const MpiClock& clock_;
  int rank_ = 0, ranks_ = 1;
  Arrival arrival_;
  Slack slack_;
  double needed_ = 0;
  std::int64_t repetition_ = 0;
  bool first_ = true;
};

}  // namespace openimb
