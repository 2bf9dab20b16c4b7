// How large the buffers are and how messages step through them. Source: guide, "Memory and Disk Space
// Requirements", "-off_cache".
#pragma once

#include <cstdint>
#include <optional>

#include "model/data_type.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// One side's buffer, in bytes. Slot i begins at (i % slots) * stride.
struct BufferPlan {
  std::int64_t footprint = 0;  ///< memory one repetition touches
  std::int64_t stride = 0;     ///< from one slot to the next; 0 with one slot
  std::int64_t total = 0;      ///< allocated
};

struct Geometry {
  std::int64_t elements = 0;        ///< in one message
  std::int64_t message_extent = 0;  ///< memory one message spans
  BufferPlan send;
  BufferPlan receive;
  std::int64_t slots = 1;
  std::int64_t sections = 1;  ///< so many successive repetitions use disjoint slots
  bool exceeds_int = false;   ///< a count or displacement of this point does not fit an int

  std::int64_t total() const;
  /// Bytes of the receive buffer that `repetitions` successive repetitions use, at most `sections`.
  std::int64_t receive_span(std::int64_t repetitions) const;
};

/// `bytes` must be a multiple of the element size. `sections`: so many successive repetitions use disjoint
/// memory. `received_at_once`: messages of Messages::in_flight. With `cache` (both values known, above 0) the
/// wider buffer is stepped through over at least twice max(cache, memory of one repetition), and the other
/// buffer in step with it; two full cache lines lie between the end of one message and the next.
Geometry plan_geometry(const Spec& spec, std::int64_t bytes, int processes, const Element& element,
                       const std::optional<OffCache>& cache, std::int64_t sections = 1,
                       std::int64_t received_at_once = 1);

/// Bytes of buffers that serve a series of points: for each buffer the most that any of the points needs.
/// With -off_cache that is not always the longest message.
struct Capacity {
  std::int64_t send = 0;
  std::int64_t receive = 0;

  void cover(const Geometry& geometry);
  bool covers(const Geometry& geometry) const;
  bool operator==(const Capacity&) const = default;
};

/// Elements that `rank` holds of a message divided over the group: even_share gives the first `elements %
/// processes` ranks one more (guide, Reduce_scatter); block_share gives each rank the ceiling.
std::int64_t share(Messages messages, std::int64_t elements, int processes, int rank);

}  // namespace openimb
