// Which message lengths a benchmark runs. Source: guide, MINMSGLOG, MAXMSGLOG, "-msglen", "-msglog".
#pragma once

#include <cstdint>
#include <vector>

#include "plan/options.h"
#include "plan/spec.h"

namespace openimb {

/// Lengths in bytes, each a multiple of the element size: what was asked for is rounded up, and a length that
/// rounding made equal to the one before it is dropped. Of threaded benchmarks the length asked for is that
/// of each thread's message, the one returned that of all threads together (plan/saturating.h). A
/// synchronization has the one length 0.
std::vector<std::int64_t> message_lengths(const Spec& spec, const Options& options);

/// What the banner states: the smallest and largest length asked for, before rounding to elements.
struct LengthRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};
LengthRange length_range(const Options& options);

}  // namespace openimb
