// The common clock of all ranks: the clock of rank 0. One rank of each host, the leader, exchanges
// messages with other leaders along a tree, which bounds the offset between their clocks. The ranks of a host
// share the operating system's clock if they can: each reads it between two readings of its own clock, which
// bounds the offset without messages. The bounds are kept during the session, because a longer span gives a
// better estimate of the drift. After an exchange, the reference sends its own map to the common time, so
// that each rank has one map to the common time.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "clocks/offset.h"
#include "clocks/waiting.h"
#include "mpi/world.h"
#include "session/common_clock.h"
#include "session/process_group.h"

namespace openimb {

/// The CommonClock of the ranks of a communicator.
class MpiClock final : public CommonClock {
 public:
  using ClockFunction = double (*)();
  /// Collective over `world`. `shares`: whether the ranks of a host may share the operating system's clock.
  /// `clock`: returns seconds.
  MpiClock(const Communicator& world, ProcessGroup& ranks, bool shares = true,
           ClockFunction clock = MPI_Wtime);

  bool synchronize() override;
  double age() const override { return started_ ? now() - last_ : std::numeric_limits<double>::infinity(); }
  double common_time(double reading) const override {
    const double time = reading - base_;
    return time < past_.until ? past_(time) : later_(time);
  }
  double bound(double reading) const override {
    const double time = reading - base_;
    return tick_ + (time < past_.until ? past_.bound : later_.bound_at(time));
  }
  double disagreement() const override { return disagreement_; }
  double tolerance() const override { return tolerated_ + 2 * tick_; }
  double now() const override { return now_(); }
  void wait_until(double reading) const { openimb::wait_until(reading, now_); }

  /// The reading of this rank's clock at a common time, which must not be in the past.
  double reading_at(double common) const { return later_.inverse(common) + base_; }
  double tick() const { return tick_; }
  std::int64_t messages() const { return messages_; }  ///< sent by this rank

 private:
  static constexpr double tolerated_ = 0.25e-6;
  /// The maps to the common time for times before (`past`) and after (`later`) the last exchange.
  struct ClockMaps {
    ClockMap past, later;
  };
  double own_time() const { return now_() - base_; }
  double system_time() const;
  void find_hosts(bool shares);
  bool compare_all();
  ClockMaps maps_through(const OffsetHistory& history, const ClockMaps& reference) const;
  bool exchange_with_parent(int index);
  void exchange_with_child(int index);
  bool compare_on_host();
  double compare_off_tree();
  OffsetBounds exchange(int partner, bool asks, bool in_common_time, ClockMaps* reference);

  const Communicator comm_;
  ProcessGroup& ranks_;
  const ClockFunction now_;
  double base_ = 0;
  double tick_ = 0;
  Communicator host_;  ///< ranks that share the system's clock; null if only this rank does
  std::int64_t system_base_ = 0;
  std::vector<int> leaders_;  ///< the first rank of each host
  int index_ = -1;            ///< index of this rank in leaders_; -1: it is not a leader
  OffsetHistory parent_;      ///< own clock minus the clock of the parent in the tree
  OffsetHistory system_;      ///< own clock minus the system's; on a leader, the system's minus its own
  ClockMap past_, later_;
  /// How many exchanges with the parent this synchronization may still add to the usual ones.
  int spare_exchanges_ = 0;
  /// Width of the narrowest bounds to the parent, in seconds.
  double narrowest_ = std::numeric_limits<double>::infinity();
  double disagreement_ = std::numeric_limits<double>::quiet_NaN();
  double last_ = 0;
  bool started_ = false;
  std::int64_t messages_ = 0;
};

}  // namespace openimb
