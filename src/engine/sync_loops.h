// -sync_mode: loops that complete the transfers of a one-sided benchmark in another way than its definition
// does. A loop combines a transfer (`Move`) and a mode. Benchmarks with the same transfer share it. Source:
// MPI 4.1, section 12.5.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/expected.h"
#include "engine/timed_loop.h"
#include "model/synchronization.h"
#include "mpi/group.h"
#include "mpi/window.h"

namespace openimb {

/// A transfer between this rank and `target`, from message `from` of one buffer to message `to` of the other.
struct Transfer {
  int target = 0;
  int from = 0;
  int to = 0;
};

/// The transfers of a rank in a repetition, in order, and the ranks whose transfers access its window.
struct Traffic {
  std::vector<Transfer> transfers;
  std::vector<int> origins;
};

/// The context of a loop in this file: a window and the traffic of this rank.
template <class Context>
struct SyncContext : Context {
  /// A transfer, with the displacement of the target's window.
  struct AddressedTransfer {
    int target;
    int from;
    int to;
    MPI_Aint base;  ///< displacement at which the target's window begins
  };
  const AddressedTransfer* transfers = nullptr;
  int transfer_count = 0;
  const int* targets = nullptr;  ///< distinct targets of the transfers
  int target_count = 0;
  bool is_target = false;
  MPI_Group origin_group = MPI_GROUP_NULL;  ///< for pscw
  MPI_Group target_group = MPI_GROUP_NULL;
};

/// The calls before (`open`) and after (`close`) transfers. Locks are shared, so that all origins can access
/// a target at once.
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
    if (c.transfer_count > 0) MPI_Win_start(c.target_group, 0, c.win);
  }
  template <class C>
  static void close(const C& c) {
    if (c.transfer_count > 0) MPI_Win_complete(c.win);
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
struct SyncLoop : Synchronization<mode> {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    for (int i = 0; i < c.transfer_count; ++i) {
      const auto& transfer = c.transfers[i];
      Move::move(c, it, transfer.target, transfer.base, transfer.from, transfer.to);
    }
  }
};

/// A SyncContext, with the arrays and groups to which it points.
template <class Context>
class Synchronizer {
 public:
  Synchronizer(const Context& context, const Traffic& traffic) {
    static_cast<Context&>(context_) = context;
    for (const Transfer& transfer : traffic.transfers) {
      const int target = transfer.target;
      transfers_.push_back({target, transfer.from, transfer.to, context.bases[target]});
      if (std::ranges::find(targets_, target) == targets_.end()) targets_.push_back(target);
    }
    std::vector<int> origins = traffic.origins;
    std::ranges::sort(origins);
    origins.erase(std::ranges::unique(origins).begin(), origins.end());
    origin_group_.emplace(context.comm, origins);
    target_group_.emplace(context.comm, targets_);
    context_.transfers = transfers_.data();
    context_.transfer_count = static_cast<int>(transfers_.size());
    context_.targets = targets_.data();
    context_.target_count = static_cast<int>(targets_.size());
    context_.is_target = !origins.empty();
    context_.origin_group = origin_group_->view();
    context_.target_group = target_group_->view();
  }
  Synchronizer(const Synchronizer&) = delete;
  Synchronizer& operator=(const Synchronizer&) = delete;

  const SyncContext<Context>& context() const { return context_; }

 private:
  SyncContext<Context> context_;
  std::vector<typename SyncContext<Context>::AddressedTransfer> transfers_;
  std::vector<int> targets_;
  std::optional<Group> origin_group_;
  std::optional<Group> target_group_;
};

/// Calls `function` with the loop for `mode`. The epoch that the loop needs is open during the call.
/// `active`: the benchmark has active targets, so pscw is the only mode possible here.
template <class Move, bool active, class Function>
auto apply_sync_loop(SyncMode mode, MPI_Win win, const Function& function) {
  if constexpr (!active) {
    if (mode == SyncMode::fence) {
      const FenceEpoch epoch(win);
      return function(SyncLoop<Move, SyncMode::fence>{});
    }
    if (mode == SyncMode::lock) return function(SyncLoop<Move, SyncMode::lock>{});
    if (mode == SyncMode::lock_all) return function(SyncLoop<Move, SyncMode::lock_all>{});
  }
  return function(SyncLoop<Move, SyncMode::pscw>{});
}

/// Whether a loop of this file serves the mode. The benchmark itself and its LocalLoop serve the mode of its
/// definition and flush_local.
constexpr bool has_sync_loop(const Spec& spec, SyncMode mode) {
  return spec.one_sided.any_sync && mode != spec.one_sided.sync && mode != SyncMode::flush_local;
}

}  // namespace openimb
