// The contents of buffers: the guide's BUF_VALUE for timing, and contents that identify every element for
// -check. The functions write them to images in ordinary memory and make no MPI calls. Source: guide, "Buffer
// Initialization", "Checking Results".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/expected.h"
#include "model/data_type.h"
#include "model/spec.h"
#include "plan/geometry.h"

namespace openimb {

/// Fills `image` with BUF_VALUE(rank, i) = 0.1 * (rank + 1) + i. The image begins at byte `at` of a buffer,
/// which is a multiple of 16. Messages get floats. Reductions get values of the element's type; 16-bit floats
/// and chars get small integers, whose sums stay finite. For MPI_Compare_and_swap all values are zero, so
/// that every repetition compares equal values.
void fill_for_timing(std::span<std::byte> image, std::int64_t at, const Element& element, const Spec& spec,
                     int rank);

/// Identifies contents for timing: equal fillings write the same bytes.
struct Filling {
  DataType type = DataType::single_precision;
  bool zero = false;
  Capacity part = {};  ///< bytes from one thread's part of each buffer to the next; 0: there is one thread
  bool operator==(const Filling&) const = default;
};
Filling filling_for_timing(const Element& element, const Spec& spec);

/// Contents under -check. They depend on rank, element index and repetition, so that data of an earlier
/// repetition also count as defects. Reductions get small integers whose sum over `ranks` ranks is exact in
/// every type. Messages get values that differ between ranks and positions.
class Content {
 public:
  /// Value of every byte of an armed buffer. Byte messages never have it.
  static constexpr std::byte armed{0xA5};
  /// Number of bytes after each buffer that must stay armed.
  static constexpr std::int64_t guard = 64;

  /// `ranks`: size of the group. `message`, `message_extent`: number of elements in a message, and the number
  /// of bytes that it spans; needed only if the layout has gaps.
  Content(const Element& element, bool reduction, int ranks, std::int64_t message = 0,
          std::int64_t message_extent = 0);

  /// Selects the contents of a repetition. Threads have different contents.
  void begin_repetition(std::int64_t repetition, int thread = 0);

  /// Writes `count` elements of `rank`'s send buffer, from element `first` on, to `at`. It does not write
  /// gaps between resized elements.
  void write(std::byte* at, int rank, std::int64_t first, std::int64_t count) const;
  /// Writes the part of a piece that lies in `image`. The image begins at byte `begin` of the receive buffer,
  /// which is a multiple of the element's extent. `held_rank`: for Piece::added, the rank whose content the
  /// receive buffer held before.
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
  std::int64_t shift_ = 0;            ///< added to every element index; selects repetition and thread
  mutable std::vector<double> sums_;  ///< sums over the first `summed_` ranks, by position in the period
  mutable int summed_ = 0;
};

/// Divides `bytes` bytes into chunks of at most the size of `memory`, and calls function(begin, chunk) for
/// each. Every chunk uses the beginning of `memory`.
template <class Function>
void for_each_chunk(std::span<std::byte> memory, std::int64_t bytes, const Function& function) {
  const auto most = static_cast<std::int64_t>(memory.size());
  for (std::int64_t begin = 0; begin < bytes; begin += most) {
    function(begin, memory.first(static_cast<std::size_t>(std::min(most, bytes - begin))));
  }
}

/// Number of bytes in which `actual` and `expected` differ. Both have the same length.
std::int64_t count_differences(std::span<const std::byte> actual, std::span<const std::byte> expected);

}  // namespace openimb
