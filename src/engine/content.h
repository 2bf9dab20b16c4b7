// What buffers hold: the guide's BUF_VALUE for timing, and contents that identify every element for -check.
// Images in ordinary memory, no MPI. Source: guide, "Buffer Initialization", "Checking Results".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/expected.h"
#include "plan/data_type.h"
#include "plan/geometry.h"
#include "plan/spec.h"

namespace openimb {

/// Fills `image` with BUF_VALUE(rank, i) = 0.1 * (rank + 1) + i, from byte `at` of a buffer on, which must be
/// a multiple of 16: as floats for messages, as the element's own type for reductions (16-bit floats: small
/// integers, which stay finite when summed). Where operands are compared, all of them are zero: each
/// repetition finds what it looks for.
void fill_for_timing(std::span<std::byte> image, std::int64_t at, const Element& element, const Spec& spec,
                     int rank);

/// What that fills with: equal ones leave the same bytes.
struct Filling {
  DataType type = DataType::single_precision;
  bool zero = false;
  Capacity part = {};  ///< from one thread's part of the buffers to the next; 0: there is one
  bool operator==(const Filling&) const = default;
};
Filling filling_for_timing(const Element& element, const Spec& spec);

/// Contents under -check are functions of (rank, element index, repetition): what arrives late is wrong too.
/// Reductions get small integers whose sum over `ranks` ranks is exact in every type; messages get values
/// that differ between ranks and positions.
class Content {
 public:
  /// What every byte is set to before a repetition: no expected byte message looks like it.
  static constexpr std::byte armed{0xA5};
  /// Bytes behind each buffer that must stay armed.
  static constexpr std::int64_t guard = 64;

  /// `message`, `message_extent`: elements in a message, and the bytes that it spans, where these have gaps
  /// between them.
  Content(const Element& element, bool reduction, int ranks, std::int64_t message = 0,
          std::int64_t message_extent = 0);

  /// From now on the contents of this repetition, which differ from thread to thread.
  void begin_repetition(std::int64_t repetition, int thread = 0);

  /// `count` elements of `rank`'s send buffer, from element `first` on, written to `at`; gaps between resized
  /// elements are left alone.
  void write(std::byte* at, int rank, std::int64_t first, std::int64_t count) const;
  /// Of a piece, what lies in an image of the receive buffer that begins at byte `begin` of it, a multiple of
  /// the element's extent; `held_rank`: whose content the receive buffer held (Piece::added).
  void write(std::span<std::byte> image, std::int64_t begin, const Piece& piece, int held_rank) const;

 private:
  void write_with_gaps(std::span<std::byte> image, std::int64_t begin, const Piece& piece) const;
  void write_sums(std::byte* at, const Piece& part, int held_rank) const;
  const std::vector<double>& sums_of_first(int ranks) const;

  Element element_;
  bool reduction_;
  int ranks_;
  std::int64_t message_;
  std::int64_t message_extent_;
  std::int64_t shift_ = 0;  ///< added to every index
  mutable std::vector<double>
      sums_;  ///< of reductions, by position in the period; of the first `summed_` ranks
  mutable int summed_ = 0;
};

/// Calls use(begin, chunk) for the chunks of `bytes` bytes, with the memory of one after the other.
template <class Use>
void for_each_chunk(std::span<std::byte> memory, std::int64_t bytes, const Use& use) {
  const auto most = static_cast<std::int64_t>(memory.size());
  for (std::int64_t begin = 0; begin < bytes; begin += most) {
    use(begin, memory.first(static_cast<std::size_t>(std::min(most, bytes - begin))));
  }
}

/// Number of bytes in which the two differ. They are of the same length.
std::int64_t count_differences(std::span<const std::byte> actual, std::span<const std::byte> expected);

}  // namespace openimb
