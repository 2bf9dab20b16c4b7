#include "plan/mpi_memory.h"

#include <algorithm>

#include "model/saturating.h"

namespace openimb {

namespace {

// Bytes by which resident memory grows per request, including the handle. Measured with MPICH 5.0.2 and Open
// MPI 5.0.11. Message: 440 and 705 (MPICH), 833 (Open MPI). Message in parts: 1,430 to 1,620 (MPICH).
constexpr std::int64_t message = 850, message_in_parts = 2000, part = 8;
// A collective has a schedule with an entry for each message. Measured bytes for Alltoall with MPICH: 2,320
// on 2 ranks, 6,660 on 16, 13,530 on 24, 15,770 on 40; with Open MPI: 1,080 on 2, 3,910 on 40. Reductions
// also need temporary memory for up to two messages (132 KB at 64 KiB with MPICH, 70 KB with Open MPI).
constexpr std::int64_t collective = 1600, collective_per_process = 500, temporary_messages = 2;

std::int64_t per_persistent_request(const Spec& spec, const Geometry& geometry, const RequestCounts& counts) {
  if (spec.partitioned) return plus(message_in_parts, times(part, counts.partitions));
  if (spec.kind != Kind::collective && spec.kind != Kind::synchronization) return message;
  return plus(collective, times(collective_per_process, counts.processes),
              times(temporary_messages, std::max(geometry.send.footprint, geometry.receive.footprint)));
}

}  // namespace

std::int64_t request_bytes(const Spec& spec, const Geometry& geometry, const RequestCounts& counts) {
  const std::int64_t persistent = times(spec.requests_per_slot, geometry.slots);
  const std::int64_t in_flight = spec.message_rate ? times(2, counts.one_way) : 0;
  return plus(times(persistent, per_persistent_request(spec, geometry, counts)), times(in_flight, message));
}

std::int64_t buffered_messages(const Spec& spec, int in_flight) {
  constexpr std::int64_t repetitions = 3;
  const std::int64_t per_repetition = spec.message_rate ? in_flight : spec.send == Messages::two ? 2 : 1;
  return repetitions * per_repetition;
}

std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes) {
  return times(buffered_messages(spec, in_flight), plus(bytes, max_send_overhead));
}

}  // namespace openimb
