// Signals and CPUs of threads.
#pragma once

#include <functional>
#include <vector>

namespace openimb::system {

/// Calls `make` while signals are blocked: threads that it starts get no signals, so handlers run in the main
/// thread.
void block_signals_during(const std::function<void()>& make);

/// Numbers of the CPUs that this process may use, ascending; empty if unknown.
std::vector<int> usable_cpus();
/// Binds the calling thread to a CPU. Returns false if the system refuses, or has no such call.
bool pin_this_thread(int cpu);

}  // namespace openimb::system
