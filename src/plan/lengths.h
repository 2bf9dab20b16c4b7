// The message lengths of a benchmark. Source: guide, MINMSGLOG, MAXMSGLOG, "-msglen", "-msglog".
#pragma once

#include <cstdint>
#include <vector>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Returns lengths in bytes, each a multiple of the element size. A requested length is rounded up, and left
/// out if rounding makes it equal to the one before it. In threaded benchmarks, users request the length of
/// each thread's message, and the returned length counts all threads together. Lengths saturate
/// (model/saturating.h). A synchronization has the single length 0.
std::vector<std::int64_t> message_lengths(const Spec& spec, const Options& options);

/// The smallest and the largest requested length in bytes, before rounding to elements. The banner shows
/// them.
struct LengthRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};
LengthRange length_range(const Options& options);

}  // namespace openimb
