// Reasons why an option excludes a benchmark. Each function checks one option and returns the reason, or an
// empty text if the benchmark can run.
#pragma once

#include <string>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

std::string send_mode_error(const Spec& spec, SendMode asked);
std::string layout_error(const Spec& spec, const DataLayout& layout);
std::string sync_mode_error(const Spec& spec, SyncMode asked);
/// `window`: the value of -window.
std::string memory_error(const Spec& spec, const MemoryChoice& memory, WindowKind window);

}  // namespace openimb
