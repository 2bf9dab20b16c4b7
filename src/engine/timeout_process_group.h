// A ProcessGroup whose ranks may stop responding: none of its calls waits forever. Timed code must not use
// it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "mpi/world.h"
#include "session/process_group.h"

namespace openimb {

/// Its collective calls are nonblocking MPI calls that it polls. If one does not complete in time, rank 0
/// makes a liveness check. Ranks that do not answer are lost, and the others continue in a new communicator.
/// A rank that waits in a blocking call elsewhere cannot be freed, so the group calls set_watchdog(true) when
/// a rank may enter one. A lost rank that responds again sleeps until the job ends. If ranks are lost,
/// MPI_Finalize would not return.
class TimeoutProcessGroup final : public ProcessGroup {
 public:
  /// MPI calls that it requires, as arguments of call::unusable_reason().
  static constexpr std::array<std::string_view, 5> needs{"Ibarrier", "Iallreduce", "Igather", "Igatherv",
                                                         "Ibcast"};

  /// Collective. `seconds`: how long a call waits before the liveness check, and how long the check waits for
  /// answers. The group calls set_watchdog(true) when this rank may block outside polled calls, and
  /// set_watchdog(false) when it no longer can.
  TimeoutProcessGroup(const Communicator& world, double seconds, std::function<void(bool)> set_watchdog);
  ~TimeoutProcessGroup() override;
  TimeoutProcessGroup(const TimeoutProcessGroup&) = delete;
  TimeoutProcessGroup& operator=(const TimeoutProcessGroup&) = delete;

  using ProcessGroup::broadcast;
  using ProcessGroup::gather;
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  /// Whether no rank is lost.
  bool is_whole() const { return static_cast<int>(present_.size()) == ranks_; }

  /// Rank 0 waits without a limit for something other than a rank, such as the reader of its output.
  /// is_over(seconds) waits at most `seconds` and returns whether the wait is over. Meanwhile rank 0 sends
  /// heartbeats to the other ranks.
  void wait_for(const std::function<bool(double seconds)>& is_over);

  void barrier() override;
  double allreduce_max(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<double> reduce_max(std::span<const double> mine) override;
  void broadcast(std::span<std::byte> bytes) override;

 private:
  struct Call;
  struct Message;
  class Polling;
  using Start = std::function<void(Call& call, MPI_Comm comm)>;

  std::unique_ptr<Call> complete(std::unique_ptr<Call> call, const Start& start);
  void finish(Call& call);
  std::vector<double> reduce(std::span<const double> mine);
  void check_liveness();
  std::vector<int> unresponsive_ranks();
  bool check_is_requested() const;
  bool rank_0_responds();
  void free_sent_messages();
  void answer_check();
  void exclude(std::span<const int> unresponsive);
  void send(int to, int tag, std::vector<int> numbers);
  std::vector<int> receive(int from, int tag) const;
  bool has_arrived(int from, int tag) const;

  const MPI_Comm check_comm_;  ///< all ranks, for liveness checks
  const int rank_, ranks_;
  const double seconds_;
  const std::function<void(bool)> set_watchdog_;
  MPI_Comm comm_;             ///< the ranks that are not lost
  std::vector<int> present_;  ///< the ranks that are not lost, ascending
  int check_ = 0;             ///< number of the last liveness check
  int step_ = 0;              ///< number of completed collective calls, the same on all ranks
  std::vector<int> steps_;    ///< step_ of the ranks that answered
  std::vector<std::unique_ptr<Message>> sent_;    ///< messages of checks; some may never arrive
  std::vector<std::unique_ptr<Call>> abandoned_;  ///< calls whose buffers MPI may still write to
};

}  // namespace openimb
