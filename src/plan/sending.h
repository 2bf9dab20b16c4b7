// What -send_mode, -layout and -packing mean for a benchmark.
#pragma once

#include <cstdint>
#include <string>

#include "plan/geometry.h"
#include "plan/options.h"
#include "plan/spec.h"

namespace openimb {

/// Why a benchmark cannot run with this -send_mode; empty where it can.
std::string why_not_sent(const Spec& spec, SendMode asked);

/// Messages for which MPI_Buffer_attach gets room. At most those of two repetitions are not yet received: all
/// benchmarks with buffered sends answer each repetition. A third one's are received, and MPI may not have
/// noticed that its copies are free.
std::int64_t buffered_messages(const Spec& spec, int in_flight);

/// At most what MPI adds to a buffered message (MPI_BSEND_OVERHEAD), in bytes.
inline constexpr std::int64_t most_send_overhead = 1024;

/// What -mem counts for messages of so many bytes.
std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes);

/// Why the elements of a benchmark's messages cannot lie so, or not be packed; empty where they can.
std::string why_not_placed(const Spec& spec, const DataLayout& layout, Packing packing);

/// What -mem counts for the contiguous copies of messages of so many bytes.
std::int64_t packed_bytes(const Geometry& geometry, std::int64_t bytes);

}  // namespace openimb
