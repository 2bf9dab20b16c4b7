// Collective calls between threads that stand for ranks. If ranks make different calls, or a rank does not
// arrive, all ranks get an exception that says so, and none waits forever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "session/process_group.h"

namespace openimb::fake {

/// Thrown on every rank that is in a call, or begins one, after ranks have disagreed.
struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The first disagreement of a launch. Once there is one, no rank waits for another.
class Verdict {
 public:
  void disagree(const std::string& what);
  std::string text() const;

 private:
  friend class Meeting;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

using Value = std::variant<std::monostate, double, std::string, std::vector<double>>;

/// Stands for a communicator.
class Meeting {
 public:
  Meeting(std::string name, int ranks, Verdict& verdict, std::chrono::milliseconds patience);

  /// Returns what every rank passed to the same call. Collective. Throws Disagreement.
  std::vector<Value> exchange(int rank, const std::string& call, Value mine = {});
  /// Notes that the rank makes no further call, so that ranks that wait for it stop at once.
  void leave(int rank);
  int ranks() const { return static_cast<int>(calls_.size()); }
  /// All calls of one rank so far, in order.
  const std::vector<std::string>& calls(int rank) const { return calls_[static_cast<std::size_t>(rank)]; }

 private:
  void arrive(int rank, const std::string& call, Value mine);
  void report_missing(const char* why);

  const std::string name_;
  Verdict& verdict_;
  const std::chrono::milliseconds patience_;
  std::vector<std::vector<std::string>> calls_;
  std::vector<bool> left_;
  std::string call_;                           ///< the current call
  std::vector<std::optional<Value>> arrived_;  ///< values of the ranks that have arrived
  std::vector<Value> complete_;                ///< values of the last complete call
  std::int64_t generation_ = 0;
};

/// One rank's view of a meeting.
class ThreadProcessGroup : public ProcessGroup {
 public:
  ThreadProcessGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  using ProcessGroup::broadcast;
  using ProcessGroup::gather;
  int rank() const override { return rank_; }
  int ranks() const override { return meeting_.ranks(); }
  void barrier() override { meeting_.exchange(rank_, "barrier"); }
  double allreduce_max(double mine) override;
  std::vector<double> gather(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<double> reduce_max(std::span<const double> mine) override;
  void broadcast(std::span<std::byte> bytes) override;

 private:
  Meeting& meeting_;
  int rank_;
};

}  // namespace openimb::fake
