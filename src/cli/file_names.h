// Files that a command line names: what it reads, what it writes.
#pragma once

#include "cli/draft.h"

namespace openimb {

/// Throws UsageError where a file would be written that is read, or twice.
void check_files(const Draft& draft, const SameFile& same_file);

}  // namespace openimb
