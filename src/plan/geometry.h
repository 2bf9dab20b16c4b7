// Sizes of the send and receive buffers, and the parts of them that each repetition uses. Source: guide,
// "Memory and Disk Space Requirements", "-off_cache".
#pragma once

#include <cstdint>
#include <optional>

#include "model/data_type.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// The send or the receive buffer, in bytes. Repetition i uses the slot that begins at (i % slots) * stride.
struct BufferPlan {
  std::int64_t footprint = 0;  ///< memory that one repetition touches
  std::int64_t stride = 0;     ///< from one slot to the next; 0 if there is one slot
  std::int64_t total = 0;      ///< size of the buffer
};

/// The send and the receive buffer of a point.
struct Geometry {
  std::int64_t elements = 0;        ///< elements in one message
  std::int64_t message_extent = 0;  ///< bytes of memory that one message spans, with gaps
  BufferPlan send;
  BufferPlan receive;
  std::int64_t slots = 1;
  std::int64_t sections = 1;  ///< number of successive repetitions that must use disjoint slots
  bool exceeds_int = false;   ///< a count or displacement of this point does not fit an int

  std::int64_t total() const;
  /// Bytes of the receive buffer that `repetitions` successive repetitions use. `repetitions` is at most
  /// `sections`.
  std::int64_t receive_span(std::int64_t repetitions) const;
};

/// Plans the buffers for messages of `bytes` bytes, a multiple of the element size. `sections`: number of
/// successive repetitions that must use disjoint memory. `received_at_once`: number of messages that
/// Messages::in_flight stands for. `cache`: set with -off_cache; both of its values must be known. With a
/// cache, the slots of the wider buffer cover at least 2 * max(cache size, memory of one repetition), the
/// other buffer has as many slots, and at least two full cache lines lie between the end of one message and
/// the next.
Geometry plan_geometry(const Spec& spec, std::int64_t bytes, int processes, const Element& element,
                       const std::optional<OffCache>& cache, std::int64_t sections = 1,
                       std::int64_t received_at_once = 1);

/// Sizes in bytes of buffers that serve several points: for each buffer, the largest size that any point
/// needs. With -off_cache, the longest message does not always need the largest buffer.
struct Capacity {
  std::int64_t send = 0;
  std::int64_t receive = 0;

  void cover(const Geometry& geometry);
  bool covers(const Geometry& geometry) const;
  bool operator==(const Capacity&) const = default;
};

/// Returns how many elements of a message divided over the group `rank` has. even_share gives the first
/// `elements % processes` ranks one more (guide, Reduce_scatter). block_share rounds up for every rank.
std::int64_t share(Messages messages, std::int64_t elements, int processes, int rank);

}  // namespace openimb
