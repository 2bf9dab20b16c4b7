// Files that a command line names: what it reads, what it writes.
#pragma once

#include "cli/command_line.h"

namespace openimb {

/// Throws UsageError where a file would be written that is read, or twice.
void check_files(const Options& options, const SameFile& same_file);

}  // namespace openimb
