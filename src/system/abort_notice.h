// A rank that is about to end the job uses this to notify rank 0, because only rank 0 can write the `end`
// record. The rank sends a datagram to rank 0's host, where a signal interrupts rank 0's main thread. No
// thread waits for notices, and nothing is sent before an abort.
#pragma once

#include <string>

namespace openimb::system {

/// Makes rank 0 receive notices from now on. Call it on the main thread of rank 0. A signal handler calls
/// `take` with the reason; if it returns true, the main thread from then on only waits for the end of the
/// process. Returns the address to which notices are sent; empty if this process cannot receive any (on
/// Windows, or if the program has its own handler).
std::string receive_abort_notices(bool (*take)(const char* reason) noexcept);
/// Prepares another rank to send notices. `where` is the address that rank 0 got. It contains a secret, so it
/// must come from rank 0.
void send_abort_notices_to(const std::string& where);
/// Sends a notice and waits until rank 0 has taken it, at most `seconds`. Returns at once if there is no
/// address. Async-signal-safe.
void send_abort_notice(const char* reason, double seconds) noexcept;

}  // namespace openimb::system
