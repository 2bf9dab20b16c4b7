// Estimates the memory that MPI needs for the requests of a point and for buffered sends. -mem counts it,
// because -off_cache may need hundreds of thousands of persistent requests, and the hub of IMB-FABRIC may
// have that many messages in flight.
#pragma once

#include <cstdint>

#include "model/spec.h"
#include "plan/geometry.h"

namespace openimb {

/// The numbers on which the memory of a point's requests depends.
struct RequestCounts {
  int processes = 1;
  int partitions = 1;        ///< -partitions
  std::int64_t one_way = 0;  ///< messages that a process has in flight in one direction
};

/// Returns an upper bound, in bytes, of the memory for the requests of a process or of one of its timed
/// threads.
std::int64_t request_bytes(const Spec& spec, const Geometry& geometry, const RequestCounts& counts);

/// Returns how many messages the attached buffer (MPI_Buffer_attach) must hold, which is the number in three
/// repetitions. All benchmarks with buffered sends answer each repetition, so at most two repetitions have
/// messages that are not yet received. The messages of a third one are received, but MPI may not have freed
/// their copies.
std::int64_t buffered_messages(const Spec& spec, int in_flight);

/// Returns the size of the attached buffer in bytes, as -mem counts it.
std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes);

}  // namespace openimb
