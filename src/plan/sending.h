// What -send_mode and -layout mean for a benchmark.
#pragma once

#include <cstdint>
#include <string>

#include "plan/options.h"
#include "plan/spec.h"

namespace openimb {

/// Why a benchmark cannot run with this -send_mode; empty where it can.
std::string why_not_sent(const Spec& spec, SendMode asked);

/// Messages for which the attached buffer has room: those of three repetitions. At most two repetitions have
/// messages that are not yet received, as all benchmarks with buffered sends answer each repetition. The
/// messages of a third one are received, but MPI may not have freed their copies.
std::int64_t buffered_messages(const Spec& spec, int in_flight);

/// Upper bound of what MPI adds to a buffered message (MPI_BSEND_OVERHEAD), in bytes.
inline constexpr std::int64_t most_send_overhead = 1024;

/// Bytes of the attached buffer that -mem counts.
std::int64_t buffered_bytes(const Spec& spec, int in_flight, std::int64_t bytes);

/// Why a benchmark cannot run with this -layout; empty where it can.
std::string why_not_placed(const Spec& spec, const DataLayout& layout);

}  // namespace openimb
