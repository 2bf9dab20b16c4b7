// -sync_mode: the transfers of a one-sided benchmark, completed in another way than its definition has. What
// moves and what completes it make one loop, which all benchmarks with the same moves share. Source: MPI 4.1,
// section 12.5.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "mpi/group.h"
#include "mpi/window.h"
#include "plan/synchronization.h"

namespace openimb {

/// One transfer of a repetition: from message `from` of one buffer to message `to` of the other.
struct Transfer {
  int target = 0;
  int from = 0;
  int to = 0;
};

/// What a rank transfers in a repetition, in this order, and whose transfers reach its window.
struct Traffic {
  std::vector<Transfer> transfers;
  std::vector<int> origins;
};

/// A window with the traffic of this rank.
template <class Context>
struct SyncContext : Context {
  struct Turn {
    int target;
    int from;
    int to;
    MPI_Aint base;  ///< where the target's window begins
  };
  const Turn* turns = nullptr;
  int turn_count = 0;
  const int* targets = nullptr;  ///< each once
  int target_count = 0;
  bool is_target = false;
  MPI_Group origin_group = MPI_GROUP_NULL;  ///< those of pscw
  MPI_Group target_group = MPI_GROUP_NULL;
};

/// The calls that complete transfers. Shared locks: all origins can be at work at once.
template <SyncMode mode>
struct Synchronization;

template <>
struct Synchronization<SyncMode::fence> : LoopBase {
  template <class C>
  static void close(const C& c) {
    MPI_Win_fence(0, c.win);
  }
};

template <>
struct Synchronization<SyncMode::pscw> : LoopBase {
  template <class C>
  static void open(const C& c) {
    if (c.is_target) MPI_Win_post(c.origin_group, 0, c.win);
    if (c.turn_count > 0) MPI_Win_start(c.target_group, 0, c.win);
  }
  template <class C>
  static void close(const C& c) {
    if (c.turn_count > 0) MPI_Win_complete(c.win);
    if (c.is_target) MPI_Win_wait(c.win);
  }
};

template <>
struct Synchronization<SyncMode::lock> : LoopBase {
  template <class C>
  static void open(const C& c) {
    for (int i = 0; i < c.target_count; ++i) MPI_Win_lock(MPI_LOCK_SHARED, c.targets[i], 0, c.win);
  }
  template <class C>
  static void close(const C& c) {
    for (int i = 0; i < c.target_count; ++i) MPI_Win_unlock(c.targets[i], c.win);
  }
};

template <>
struct Synchronization<SyncMode::lock_all> : LoopBase {
  template <class C>
  static void open(const C& c) {
    MPI_Win_lock_all(0, c.win);
  }
  template <class C>
  static void close(const C& c) {
    MPI_Win_unlock_all(c.win);
  }
};

template <class Move, SyncMode mode>
struct InSync : Synchronization<mode> {
  template <class C>
  static void step(const C& c, const Lap& lap) {
    for (int i = 0; i < c.turn_count; ++i) {
      const auto& turn = c.turns[i];
      Move::move(c, lap, turn.target, turn.base, turn.from, turn.to);
    }
  }
};

/// A context with the memory that it points to.
template <class Context>
class SyncEndpoint {
 public:
  SyncEndpoint(const Context& context, const Traffic& traffic) {
    static_cast<Context&>(context_) = context;
    for (const Transfer& one : traffic.transfers) {
      turns_.push_back({one.target, one.from, one.to, context.bases[one.target]});
      if (std::ranges::find(targets_, one.target) == targets_.end()) targets_.push_back(one.target);
    }
    std::vector<int> origins = traffic.origins;
    std::ranges::sort(origins);
    origins.erase(std::ranges::unique(origins).begin(), origins.end());
    origin_group_.emplace(context.comm, origins);
    target_group_.emplace(context.comm, targets_);
    context_.turns = turns_.data();
    context_.turn_count = static_cast<int>(turns_.size());
    context_.targets = targets_.data();
    context_.target_count = static_cast<int>(targets_.size());
    context_.is_target = !origins.empty();
    context_.origin_group = origin_group_->view();
    context_.target_group = target_group_->view();
  }
  SyncEndpoint(const SyncEndpoint&) = delete;
  SyncEndpoint& operator=(const SyncEndpoint&) = delete;

  const SyncContext<Context>& context() const { return context_; }

 private:
  SyncContext<Context> context_;
  std::vector<typename SyncContext<Context>::Turn> turns_;
  std::vector<int> targets_;
  std::optional<Group> origin_group_;
  std::optional<Group> target_group_;
};

/// Calls `use` with the loop for a mode, in the epoch that it needs around it; active targets have no passive
/// modes.
template <class Move, bool active, class Use>
auto with_sync(SyncMode mode, MPI_Win win, const Use& use) {
  if constexpr (!active) {
    if (mode == SyncMode::fence) {
      const Fences epoch(win);
      return use(InSync<Move, SyncMode::fence>{});
    }
    if (mode == SyncMode::lock) return use(InSync<Move, SyncMode::lock>{});
    if (mode == SyncMode::lock_all) return use(InSync<Move, SyncMode::lock_all>{});
  }
  return use(InSync<Move, SyncMode::pscw>{});
}

/// In a loop of its own; what a benchmark's definition or its LocalLoop has is not.
constexpr bool has_sync_loop(const Spec& spec, SyncMode mode) {
  return spec.one_sided.any_sync && mode != spec.one_sided.sync && mode != SyncMode::flush_local;
}

}  // namespace openimb
