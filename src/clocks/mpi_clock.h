// The common clock, on MPI. Ranks of a host read the operating system's clock, as far as it is the same,
// between readings of their own, which bounds their offset as messages would. One rank of each host exchanges
// messages in a tree. Bounds are kept over the session, since the drift is known the better the longer the
// span; after an exchange the reference hands on its own map, so that each rank has one map to the common
// time.
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

class MpiClock final : public CommonClock {
 public:
  using ClockFunction = double (*)();
  /// Collective over the ranks of `world`. `shares`: whether ranks may share the operating system's clock.
  MpiClock(const Communicator& world, ProcessGroup& ranks, bool shares = true,
           ClockFunction clock = MPI_Wtime);

  bool synchronize() override;
  double age() const override { return begun_ ? now() - last_ : std::numeric_limits<double>::infinity(); }
  double common_time(double reading) const override {
    const double time = reading - base_;
    return time < past_.until ? past_(time) : onwards_(time);
  }
  double bound(double reading) const override {
    const double time = reading - base_;
    return tick_ + (time < past_.until ? past_.bound : onwards_.bound_at(time));
  }
  double disagreement() const override { return disagreement_; }
  double tolerance() const override { return tolerated_ + 2 * tick_; }
  double now() const override { return now_(); }
  void wait_until(double reading) const { openimb::wait_until(reading, now_); }

  /// The reading of this rank's clock at a common time from now on.
  double reading_at(double common) const { return onwards_.inverse(common) + base_; }
  double tick() const { return tick_; }
  std::int64_t messages() const { return messages_; }  ///< sent by this rank

 private:
  static constexpr double tolerated_ = 0.25e-6;
  /// To the common time, as a reference hands them on.
  struct Maps {
    ClockMap past, onwards;
  };
  double own_time() const { return now_() - base_; }
  double system_time() const;
  void find_hosts(bool shares);
  bool compare_all();
  Maps maps_through(const OffsetHistory& history, const Maps& reference) const;
  bool exchange_with_parent(int index);
  void exchange_with_child(int index);
  bool compare_on_host();
  double compare_off_tree();
  OffsetBounds exchange(int partner, bool asks, bool in_common_time, Maps* reference);

  const Communicator comm_;
  ProcessGroup& ranks_;
  const ClockFunction now_;
  double base_ = 0;
  double tick_ = 0;
  Communicator host_;  ///< ranks that read the same clock of the system; null: this rank alone
  std::int64_t system_base_ = 0;
  std::vector<int> leaders_;  ///< the first rank of each host
  int index_ = -1;            ///< of this rank among them
  OffsetHistory parent_;      ///< own clock - the clock of the parent in the tree
  OffsetHistory system_;  ///< own clock - the system's; on the first rank of a host the system's - own clock
  ClockMap past_, onwards_;
  double narrowest_ =
      std::numeric_limits<double>::infinity();  ///< width of the best exchanges with the parent
  double disagreement_ = std::numeric_limits<double>::quiet_NaN();
  double last_ = 0;
  bool begun_ = false;
  std::int64_t messages_ = 0;
};

}  // namespace openimb
