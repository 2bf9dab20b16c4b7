// The MPI resources of tables and points: communicators, windows, files, and the buffers of the launch. If
// only some ranks could allocate a resource, all ranks agree that it failed before these ranks free it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "clocks/mpi_clock.h"
#include "engine/buffers.h"
#include "engine/calibrated_load.h"
#include "engine/entry.h"
#include "engine/mpi_process_group.h"
#include "engine/thread_team.h"
#include "mpi/control_variables.h"
#include "mpi/window.h"
#include "mpi/world.h"
#include "session/resources.h"

namespace openimb {

class MpiResources final : public Resources {
 public:
  /// `ranks`: the session's group with the ranks of `world`. `entries`: the component's entries, indexed like
  /// its catalog. `file_base`: path of files without suffixes. `device`: null if all buffers are on the host.
  /// `variables`: null in a launch without variants. `clock`: null without -sync_start clock. All arguments
  /// but `file_base` must outlive the resources.
  MpiResources(const Communicator& world, ProcessGroup& ranks, std::span<const Entry> entries,
               const Options& options, Loads& loads, ThreadTeam& team, std::string file_base, Device* device,
               ControlVariables* variables = nullptr, const MpiClock* clock = nullptr)
      : world_(world),
        ranks_(ranks),
        entries_(entries),
        options_(options),
        loads_(loads),
        team_(team),
        file_base_(std::move(file_base)),
        info_(options.info),
        device_(device),
        variables_(variables),
        clock_(clock),
        buffers_(options.memory, device) {}

  std::unique_ptr<OpenTable> open(const TablePlan& plan) override;

 private:
  friend class MpiTable;
  const Communicator& world_;
  ProcessGroup& ranks_;
  std::span<const Entry> entries_;
  const Options& options_;
  Loads& loads_;
  ThreadTeam& team_;
  const std::string file_base_;
  const Info info_;
  Device* const device_;
  ControlVariables* const variables_;
  const MpiClock* const clock_;  ///< null without -sync_start clock
  /// Identifies a communicator. Open tables with equal groups share communicators, because an MPI can have
  /// only some 2,000, and passes keep all tables open.
  struct CommunicatorKey {
    std::vector<std::vector<int>> groups;
    int variant = -1;  ///< index of the variant; -1: no variant
    int thread = 0;    ///< the thread whose calls under test use it; -1: for messages of the suite itself
    auto operator<=>(const CommunicatorKey&) const = default;
  };
  /// Returns the communicator for `key`, and makes it if no open table has it.
  std::shared_ptr<const Communicator> communicator(const CommunicatorKey& key,
                                                   const std::function<Communicator()>& make);
  std::map<CommunicatorKey, std::weak_ptr<const Communicator>> communicators_;
  Buffers buffers_;
};

/// The barrier that -imb_barrier selects.
inline BarrierFunction barrier_of(const Options& options) {
  return options.own_barrier ? dissemination_barrier : library_barrier;
}

}  // namespace openimb
