// How a rank that is about to end the job notifies rank 0, which alone can write the `end` record: by a
// datagram to the host of rank 0, whose main thread a signal interrupts. No thread waits for it, and nothing
// is sent before.
#pragma once

#include <string>

namespace openimb::system {

/// Rank 0, on its main thread: from now on notices are received. `take` is called by a handler of a signal
/// with the reason; where it returns true, the main thread does nothing more than wait for its end. Returns
/// where notices must be sent; empty where this system cannot receive any (Windows, or a program that has its
/// own handler).
std::string receive_abort_notices(bool (*take)(const char* reason) noexcept);
/// Other ranks: `where` is what rank 0 got; it must come from rank 0 itself, as it has a secret.
void send_abort_notices_to(const std::string& where);
/// Sends a notice and returns when rank 0 has taken it, or after `seconds`; at once where there is nowhere to
/// send it to. Async-signal-safe.
void send_abort_notice(const char* reason, double seconds) noexcept;

}  // namespace openimb::system
