#include "system/abort_notice.h"

namespace openimb::system {

// On Windows no datagram can interrupt a thread.
std::string receive_abort_notices(bool (*)(const char*) noexcept) { return {}; }
void send_abort_notices_to(const std::string&) {}
void send_abort_notice(const char*, double) noexcept {}

}  // namespace openimb::system
