// What is needed of the command line before MPI is up, and so before parse().
#pragma once

#include "plan/options.h"

namespace openimb {

/// Several threads need one of two levels; where none is asked for (`given`), the higher one.
void settle_level(bool given, Options& options);

}  // namespace openimb
