// One launch: walks the plan (benchmark x layout x length), keeps all ranks in step, and hands every point to
// a reporter. Source: guide, "Control Flow", "Synchronization", "Communicators, Active Processes".
#pragma once

#include <functional>
#include <span>

#include "engine/batch.h"
#include "engine/cpu_load.h"
#include "mpi/world.h"
#include "plan/options.h"
#include "report/reporter.h"
#include "result/measurement.h"

namespace openimb {

/// What the session asks of its surroundings.
struct Surroundings {
  std::function<bool()> stop_requested;      ///< on any rank; acted on by all, between two points
  std::function<std::string()> stop_reason;  ///< "SIGTERM"
  std::function<void(double seconds)> pause;
  std::function<void(const Ending& so_far)> progress;  ///< rank 0, after each row
  std::function<void(bool row)> take_turn;             ///< on every rank, before a row and between its parts
  std::function<std::int64_t()> free_bytes;            ///< of storage, where this rank's files lie
  std::string file;                                    ///< their path without suffixes
};

/// Whether anything selected computes for TARGET_CPU_SECS: the load must then be calibrated first.
bool needs_fixed_load(std::span<const Entry> entries, const Options& options);

/// Collective over `world`. `off_cache`: with the machine's figures filled in, equal on all ranks. Returns
/// how it ended; the reporter (rank 0's; others are never called) has had everything but end().
/// `load`: calibrated, or on first use.
Ending run_session(const Communicator& world, std::span<const Entry> entries, const Options& options,
                   const std::optional<OffCache>& off_cache, CpuLoad& load, Reporter& reporter,
                   const Surroundings& surroundings);

}  // namespace openimb
