// What -sync_mode means for a benchmark.
#pragma once

#include "model/spec.h"

namespace openimb {

/// What completes the transfers of a benchmark: `asked`, or what its definition requires.
constexpr SyncMode sync_of(const Spec& spec, SyncMode asked) {
  return asked == SyncMode::standard ? spec.one_sided.sync : asked;
}

/// Whether all processes of the group call what completes transfers, not the origin alone.
constexpr bool needs_targets(SyncMode mode) { return mode == SyncMode::fence || mode == SyncMode::pscw; }

/// Whether a rank synchronizes its own loads and stores in its window by locks.
constexpr bool uses_locks(const Spec& spec, SyncMode mode) {
  return mode == SyncMode::standard ? spec.access == Access::passive_target : !needs_targets(mode);
}

}  // namespace openimb
