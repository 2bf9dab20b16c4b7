// -send_mode: loops that send a benchmark's messages in another mode than standard. Each mode has its own
// loop. Source: MPI 4.1, sections 3.4 and 3.6.
#pragma once

#include "engine/pattern.h"
#include "model/spec.h"

namespace openimb {

template <class Pattern, SendMode mode>
struct SendModeLoop : LoopBase {
  template <class C>
  static void step(const C& c, const Iteration& it) {
    Pattern::template step<mode>(c, it);
  }
};

/// Calls `function` with the loop for `mode`, which is not standard.
template <class Pattern, class Function>
auto apply_send_loop(SendMode mode, const Function& function) {
  if constexpr (Pattern::spec.send_modes.not_buffered.empty()) {
    if (mode == SendMode::buffered) return function(SendModeLoop<Pattern, SendMode::buffered>{});
  }
  return function(SendModeLoop<Pattern, SendMode::synchronous>{});
}

}  // namespace openimb
