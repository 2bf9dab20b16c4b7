// Blocks signals in threads, and binds threads to CPUs.
#pragma once

#include <functional>
#include <vector>

namespace openimb::system {

/// Calls `start` while signals are blocked. Threads that it starts get no signals, so handlers run in the
/// main thread.
void block_signals_during(const std::function<void()>& make);

/// Returns the numbers of the CPUs that this process may use, ascending; empty if unknown.
std::vector<int> usable_cpus();
/// Binds the calling thread to a CPU. Returns false if the system refuses, or has no such call.
bool pin_this_thread(int cpu);

}  // namespace openimb::system
