// How much memory MPI needs for the requests of a point and for buffered sends. -mem counts it, as -off_cache
// may need hundreds of thousands of persistent requests, and a hub has as many messages in flight.
#pragma once

#include <cstdint>

#include "model/spec.h"
#include "plan/geometry.h"

namespace openimb {

/// The group and the messages of a point, as its requests depend on them.
struct RequestCounts {
  int processes = 1;
  int partitions = 1;        ///< -partitions
  std::int64_t one_way = 0;  ///< messages that a process sends or receives at once
};

/// Upper bound in bytes for a process, or for one of its timed threads.
std::int64_t request_bytes(const Spec& spec, const Geometry& geometry, const RequestCounts& counts);

/// Messages for which the attached buffer has room: the messages of three repetitions. At most two
/// repetitions have messages that are not yet received, as all benchmarks with buffered sends answer each
/// repetition. The messages of a third one are received, but MPI may not have freed their copies.
std::int64_t buffered_messages(const Spec& spec, int in_flight);

/// Bytes of the attached buffer that -mem counts.
std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes);

}  // namespace openimb
