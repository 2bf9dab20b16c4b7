// The clock that ranks share with -sync_start clock. The session uses it through this interface. src/clocks
// implements it with MPI, and the unit tests without.
#pragma once

namespace openimb {

/// Times are seconds of the clock of rank 0 since the session began.
class CommonClock {
 public:
  virtual ~CommonClock() = default;
  /// Compares the clocks of all ranks; collective over the world. Returns false on all ranks if a clock was
  /// set since the last call. Measurements since then are invalid.
  virtual bool synchronize() = 0;
  /// Seconds since the last synchronize() on this rank.
  virtual double age() const = 0;
  /// Converts a reading of this rank's clock into common time. The reading must be later than the
  /// synchronization before the last one.
  virtual double common_time(double reading) const = 0;
  /// The largest error of common_time(reading) on this rank, in seconds.
  virtual double bound(double reading) const = 0;
  /// At the last synchronization, the largest difference of common time within pairs of ranks that compare
  /// their clocks only to check them, in seconds. NaN without such pairs. Equal on all ranks.
  virtual double disagreement() const = 0;
  /// A repetition is invalid if a rank begins it later than planned by more than this number of seconds.
  virtual double tolerance() const = 0;
  /// A reading of this rank's clock.
  virtual double now() const = 0;
};

}  // namespace openimb
