// Which message lengths a benchmark runs. Source: guide, MINMSGLOG, MAXMSGLOG, "-msglen", "-msglog".
#pragma once

#include <cstdint>
#include <vector>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Lengths in bytes, each a multiple of the element size: a requested length is rounded up, and dropped if
/// rounding makes it equal to the one before it. For threaded benchmarks users request the length of each
/// thread's message; the returned length counts all threads together (model/saturating.h). A synchronization
/// has the single length 0.
std::vector<std::int64_t> message_lengths(const Spec& spec, const Options& options);

/// The smallest and largest requested length, before rounding to elements: for the banner.
struct LengthRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};
LengthRange length_range(const Options& options);

}  // namespace openimb
