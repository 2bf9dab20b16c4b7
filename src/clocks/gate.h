// The gate before each repetition with -sync_start clock. The ranks agree on a time a little later than now,
// and each rank waits for it by its own clock. No message is sent between that time and the repetition. The
// gate uses point-to-point messages to agree, so that -alternate cannot change its algorithm. Source: the
// round-time scheme of ReproMPI (Hunold and Carpen-Amarie, IEEE TPDS 27, 2016).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "clocks/mpi_clock.h"
#include "clocks/slack.h"
#include "model/arrival.h"

namespace openimb {

/// The gate of one rank.
class Gate {
 public:
  /// `comm`: the ranks of a group; it must carry no other messages at the same time. Both arguments must
  /// outlive the gate.
  Gate(MPI_Comm comm, const MpiClock& clock);
  void set_arrival(const Arrival& arrival) { arrival_ = arrival; }
  /// Prepares the first repetition of a run. Collective.
  void open();
  /// Waits for the start of a repetition. Collective. `stamps`: array for the repetition's stamps
  /// (session/batch.h); the stamps of the previous repetition precede it. Sets stamps[0].
  void wait(double* stamps);

 private:
  /// The largest value of any rank in each field.
  struct Agreement {
    double latest = 0;  ///< common time at which the last rank arrived at the gate, in seconds
    double needed = 0;  ///< seconds from the last arrival to the end of the previous agreement
    double late = 0;    ///< 1: a rank was late for the previous start
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
