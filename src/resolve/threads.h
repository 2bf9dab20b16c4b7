// Chooses the number of threads, checks the thread level of MPI, and binds threads to CPUs.
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
  std::string place = {};  ///< " on rank 1" if other ranks have a higher level; otherwise empty
};

/// Returns the lowest thread level of any rank. `mine`: the level of this rank. Collective.
GrantedLevel lowest_granted_level(ProcessGroup& world, ThreadLevel mine);

/// Fills in Options::threads.count. Collective. Throws UsageError on all ranks if the threads are not
/// possible.
void resolve_threads(const Component& component, ProcessGroup& world, const GrantedLevel& granted,
                     Options& options);

/// Starts the team of -threads. With -pin_threads its threads are bound to CPUs. `device`: the GPU of all
/// threads, or null. Collective. Throws UsageError on all ranks if threads cannot be bound.
std::unique_ptr<ThreadTeam> make_team(MpiProcessGroup& world, const Options& options, Device* device);

}  // namespace openimb
