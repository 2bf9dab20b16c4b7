// Agreement over all ranks of a launch of which some may fall silent: no call waits for ever. Only what is
// not timed may go through it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "mpi/world.h"
#include "session/agreement.h"

namespace openimb {

/// Collective calls are nonblocking ones that are polled. When one does not end in time, rank 0 calls the
/// roll: who does not answer is lost, the others go on in a communicator of their own. Elsewhere, a rank that
/// waits in a blocking call cannot be freed; `watch` learns when that may be. A rank that has been left out
/// and comes back sleeps until the job ends. With anyone lost, MPI_Finalize would not return.
class PatientAgreement final : public Agreement {
 public:
  /// MPI calls without which there is none, as in call::why_unusable().
  static constexpr std::array<std::string_view, 5> needs{"Ibarrier", "Iallreduce", "Igather", "Igatherv",
                                                         "Ibcast"};

  /// Collective. `seconds`: how long a call waits before the roll is called, and how long the roll waits.
  /// `watch(true)`: this rank is on its own from here on; `watch(false)`: it is back.
  PatientAgreement(const Communicator& world, double seconds, std::function<void(bool)> watch);
  ~PatientAgreement() override;
  PatientAgreement(const PatientAgreement&) = delete;
  PatientAgreement& operator=(const PatientAgreement&) = delete;

  using Agreement::broadcast;
  using Agreement::gather;
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  bool is_whole() const { return static_cast<int>(present_.size()) == ranks_; }

  void barrier() override;
  double largest(double mine) override;
  std::vector<std::string> gather(const std::string& mine) override;
  std::vector<double> slowest(std::span<const double> mine) override;
  void broadcast(std::span<std::byte> bytes) override;

 private:
  struct Call;
  struct Message;
  class Polling;
  using Start = std::function<void(Call& call, MPI_Comm comm)>;

  std::unique_ptr<Call> complete(std::unique_ptr<Call> call, const Start& start);
  void finish(Call& call);
  std::vector<double> reduce(std::span<const double> mine);
  void call_roll();
  std::vector<int> those_silent();
  bool roll_is_called() const;
  void answer_roll();
  void leave_out(std::span<const int> silent);
  void send(int to, int tag, std::vector<int> numbers);
  std::vector<int> receive(int from, int tag) const;
  bool has_arrived(int from, int tag) const;

  const MPI_Comm roll_comm_;  ///< of all ranks, for the roll
  const int rank_, ranks_;
  const double seconds_;
  const std::function<void(bool)> watch_;
  MPI_Comm comm_;                                 ///< of those present
  std::vector<int> present_;                      ///< ascending
  int roll_ = 0;                                  ///< number of the last one
  int step_ = 0;                                  ///< number of the collective call, the same on all ranks
  std::vector<int> steps_;                        ///< of those that answered
  std::vector<std::unique_ptr<Message>> sent_;    ///< which may never arrive
  std::vector<std::unique_ptr<Call>> abandoned_;  ///< which MPI may still write to
};

}  // namespace openimb
