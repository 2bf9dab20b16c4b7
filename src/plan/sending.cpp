#include "plan/sending.h"

#include "plan/geometry.h"
#include "plan/saturating.h"

namespace openimb {

std::string why_not_sent(const Spec& spec, SendMode asked) {
  if (asked == SendMode::standard) return {};
  const std::string mode = std::string("-send_mode ") + name_of(asked);
  if (!spec.send_modes.any) return "by definition it has no send that " + mode + " could replace";
  if (asked != SendMode::buffered || spec.send_modes.not_buffered.empty()) return {};
  return mode + ": " + std::string(spec.send_modes.not_buffered);
}

std::int64_t buffered_messages(const Spec& spec, int in_flight) {
  constexpr std::int64_t repetitions = 3;
  const std::int64_t per_repetition = spec.message_rate ? in_flight : spec.send == Messages::two ? 2 : 1;
  return repetitions * per_repetition;
}

std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes) {
  return times(buffered_messages(spec, in_flight), plus(bytes, most_send_overhead));
}

std::string why_not_placed(const Spec& spec, const DataLayout& layout) {
  if (!layout.has_gaps()) return {};
  const std::string asked = "-layout " + name_of(layout);
  if (spec.reduction) return asked + ": MPI defines no reduction of derived types";
  if (spec.partitioned) return asked + ": the parts of its messages are whole elements";
  if (!takes_layout(spec)) return asked + ": it has no messages whose elements could lie apart";
  return {};
}

}  // namespace openimb
