#include "plan/synchronization.h"

namespace openimb {

namespace {

std::string completion_of(const Spec& spec) {
  switch (spec.one_sided.sync) {
    case SyncMode::fence:
      return "MPI_Win_fence";
    case SyncMode::flush:
      return "MPI_Win_flush";
    case SyncMode::flush_local:
      return "MPI_Win_flush_local";
    default:
      return "calls of its own";
  }
}

}  // namespace

std::string why_not_synchronized(const Spec& spec, SyncMode asked) {
  if (!spec.on_windows() || asked == SyncMode::standard || asked == spec.one_sided.sync) return {};
  if (spec.one_sided.any_sync && (spec.access == Access::passive_target || needs_targets(asked))) return {};
  return "by definition it is completed by " + completion_of(spec) + ", not by -sync_mode " + name_of(asked);
}

}  // namespace openimb
