// What a thread has allocated with operator new. allocations.cpp replaces it for the whole program.
#pragma once

#include <cstddef>

namespace openimb::fake {

/// Bytes since the thread began, whoever freed them.
std::size_t allocated_by_this_thread();

}  // namespace openimb::fake
