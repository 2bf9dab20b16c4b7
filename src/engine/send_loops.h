// -send_mode: sends a benchmark's messages in another mode than standard. Each mode has a separate loop.
// Source: MPI 4.1, sections 3.4 and 3.6.
#pragma once

#include "engine/pattern.h"
#include "model/spec.h"

namespace openimb {

template <class Pattern, SendMode mode>
struct InSendMode : LoopBase {
  template <class C>
  static void step(const C& c, const Lap& lap) {
    Pattern::template step<mode>(c, lap);
  }
};

/// Calls `use` with the loop for a mode.
template <class Pattern, class Use>
auto with_send_mode(SendMode mode, const Use& use) {
  if constexpr (Pattern::spec.send_modes.not_buffered.empty()) {
    if (mode == SendMode::buffered) return use(InSendMode<Pattern, SendMode::buffered>{});
  }
  return use(InSendMode<Pattern, SendMode::synchronous>{});
}

}  // namespace openimb
