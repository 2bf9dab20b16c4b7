// The threads of a launch: their number, the thread level that they need, their CPUs.
#pragma once

#include <memory>
#include <string>

#include "benchmarks/components.h"
#include "device/driver.h"
#include "engine/mpi_process_group.h"
#include "engine/thread_team.h"
#include "model/options.h"
#include "session/process_group.h"

namespace openimb {

/// The thread level that MPI grants to every rank.
struct GrantedLevel {
  ThreadLevel level = ThreadLevel::single;
  std::string place = {};  ///< " on rank 1" where other ranks have more
};

/// Collective.
GrantedLevel granted_to_all(ProcessGroup& world, ThreadLevel mine);

/// Fills in Options::threads.count. Throws UsageError on all ranks.
void resolve_threads(const Component& component, ProcessGroup& world, const GrantedLevel& granted,
                     Options& options);

/// Starts the team of -threads, bound to CPUs with -pin_threads. `device`: null, or the GPU of all threads.
/// Throws UsageError on all ranks.
std::unique_ptr<ThreadTeam> make_team(MpiProcessGroup& world, const Options& options, Device* device);

}  // namespace openimb
