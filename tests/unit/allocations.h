// Counts what a thread allocates with operator new, which allocations.cpp replaces for the whole program.
#pragma once

#include <cstddef>

namespace openimb::fake {

/// Returns the bytes that the calling thread has allocated, freed or not.
std::size_t allocated_by_this_thread();

}  // namespace openimb::fake
