// -topo and -seed: from words to a topology that the launch can have.
#pragma once

#include <string_view>

#include "cli/draft.h"

namespace openimb {

/// -topo. Throws BadValue.
void set_topology(Draft& draft, std::string_view word);

/// Gives -seed to what is drawn at random. Throws UsageError where the program has no use for -topo or -seed,
/// and for a topology that no group of the launch has.
void settle_topology(Draft& draft);

}  // namespace openimb
