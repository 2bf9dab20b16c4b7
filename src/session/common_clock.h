// The clock that ranks share with -sync_start clock. The session uses it through this interface: src/clocks
// implements it on MPI, the unit tests without.
#pragma once

namespace openimb {

/// Times are seconds of the clock of rank 0 since the session began.
class CommonClock {
 public:
  virtual ~CommonClock() = default;
  /// Compares the clocks of all ranks; collective over the world. False, on all ranks, where one was set
  /// since the last time: what was measured in between is worth nothing.
  virtual bool synchronize() = 0;
  /// Seconds since then, on this rank.
  virtual double age() const = 0;
  /// The common time of a reading of this rank's clock since the synchronization before the last one.
  virtual double common_time(double reading) const = 0;
  /// The largest error of common times at this reading, of this rank.
  virtual double bound(double reading) const = 0;
  /// The largest difference of two ranks that compare their clocks for this alone, at the last
  /// synchronization; NaN where there are no such ranks. Equal on all ranks.
  virtual double disagreement() const = 0;
  /// How much later than agreed a rank may begin a repetition.
  virtual double tolerance() const = 0;
  /// A reading of this rank's clock.
  virtual double now() const = 0;
};

}  // namespace openimb
