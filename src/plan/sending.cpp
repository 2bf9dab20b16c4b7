#include "plan/sending.h"

#include <limits>

namespace openimb {

std::string why_not_sent(const Spec& spec, SendMode asked) {
  if (asked == SendMode::standard) return {};
  const std::string mode = std::string("-send_mode ") + name_of(asked);
  if (!spec.send_modes.any) return "by definition it has no send that " + mode + " could replace";
  const std::string_view why = asked == SendMode::ready      ? spec.send_modes.not_ready
                               : asked == SendMode::buffered ? spec.send_modes.not_buffered
                                                             : std::string_view{};
  return why.empty() ? std::string{} : mode + ": " + std::string(why);
}

std::int64_t buffered_messages(const Spec& spec, int in_flight) {
  constexpr std::int64_t repetitions = 3;
  const std::int64_t each = spec.message_rate ? in_flight : spec.send == Extent::two ? 2 : 1;
  return repetitions * each;
}

std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t messages = buffered_messages(spec, in_flight);
  return bytes > largest / messages - most_send_overhead ? largest : messages * (bytes + most_send_overhead);
}

}  // namespace openimb
