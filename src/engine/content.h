// What buffers hold: the guide's BUF_VALUE for timing, and contents that identify every element for -check.
// Pure memory, no MPI. Source: guide, "Buffer Initialization", "Checking Results".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/expected.h"
#include "plan/data_type.h"
#include "plan/spec.h"

namespace openimb {

/// Fills `memory` with BUF_VALUE(rank, i) = 0.1 * (rank + 1) + i: as floats for messages, as the element's
/// own type for reductions (16-bit floats: small integers, which stay finite when summed). Where operands are
/// compared, all of them are zero: each repetition finds what it looks for.
void fill_for_timing(std::span<std::byte> memory, const Element& element, const Spec& spec, int rank);

/// Contents under -check are functions of (rank, element index, repetition): what arrives late is wrong too.
/// Reductions get small integers whose sum over `ranks` ranks is exact in every type; messages get values
/// that differ between ranks and positions.
class Content {
 public:
  /// What every byte is set to before a repetition: no expected byte message looks like it.
  static constexpr std::byte armed{0xA5};
  /// Bytes behind each buffer that must stay armed.
  static constexpr std::int64_t guard = 64;

  Content(const Element& element, bool reduction, int ranks);

  /// From now on the contents of this repetition.
  void begin_repetition(std::int64_t repetition);

  /// `count` elements of `rank`'s send buffer, from element `first` on, written to `at`; gaps between resized
  /// elements are left alone.
  void write(std::byte* at, int rank, std::int64_t first, std::int64_t count) const;
  /// The same for a piece; `held_rank`: whose content the receive buffer held (Piece::added).
  void write(std::byte* receive, const Piece& piece, int held_rank) const;

 private:
  Element element_;
  bool reduction_;
  int ranks_;
  std::int64_t shift_ = 0;    ///< added to every index
  std::vector<double> sums_;  ///< over all ranks, by position in the period; reductions only
};

/// Number of bytes in which the two differ.
std::int64_t count_differences(std::span<const std::byte> actual, std::span<const std::byte> expected);

}  // namespace openimb
