// What -sync_mode means for a benchmark.
#pragma once

#include "model/spec.h"

namespace openimb {

/// Returns the synchronization that completes the transfers of a benchmark. `asked`: -sync_mode. standard
/// stands for the synchronization that the benchmark's definition requires.
constexpr SyncMode sync_of(const Spec& spec, SyncMode asked) {
  return asked == SyncMode::standard ? spec.one_sided.sync : asked;
}

/// Whether all processes of the group make the completing calls, not only the origin.
constexpr bool needs_targets(SyncMode mode) { return mode == SyncMode::fence || mode == SyncMode::pscw; }

/// Whether a rank locks its window before it loads or stores there itself.
constexpr bool uses_locks(const Spec& spec, SyncMode mode) {
  return mode == SyncMode::standard ? spec.access == Access::passive_target : !needs_targets(mode);
}

}  // namespace openimb
