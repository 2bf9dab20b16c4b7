// How much memory MPI needs for the requests of a point. -mem counts it, as -off_cache may need hundreds of
// thousands of persistent requests, and a hub has as many messages in flight.
#pragma once

#include <cstdint>

#include "plan/geometry.h"
#include "plan/spec.h"

namespace openimb {

/// The group and the messages of a point, as its requests depend on them.
struct RequestCounts {
  int processes = 1;
  int partitions = 1;        ///< -partitions
  std::int64_t one_way = 0;  ///< messages that a process sends or receives at once
};

/// Upper bound in bytes for a process, or for one of its timed threads.
std::int64_t request_bytes(const Spec& spec, const Geometry& geometry, const RequestCounts& counts);

}  // namespace openimb
