// -layout: where the elements of a message lie in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/names.h"

namespace openimb {

/// How elements are placed, named after the calls that make such derived types: MPI_Type_vector,
/// MPI_Type_indexed, MPI_Type_create_struct. Source: MPI 4.1, section 5.1.2.
enum class Placement { contiguous, vector, indexed, structure };
template <>
inline constexpr Names<4> names_of<Placement> = {"contiguous", "vector", "indexed", "struct"};

/// `count` elements from element `at` on.
struct Block {
  std::int64_t at = 0;
  std::int64_t count = 0;
};

/// The repeating part of a layout. A message is a sequence of periods; the last one may be incomplete. A
/// period has `elements` elements in its blocks and covers the memory of `extent` elements.
struct Period {
  std::array<Block, 8> all{};
  int number = 0;
  std::int64_t elements = 1;
  std::int64_t extent = 1;

  constexpr const Block* begin() const { return all.data(); }
  constexpr const Block* end() const { return all.data() + number; }

  /// Calls function(block, number of elements before it) for the blocks of the first `elements_left`
  /// elements. The last block is cut if it has more.
  template <class Function>
  constexpr void for_each_block(std::int64_t elements_left, const Function& function) const {
    std::int64_t before = 0;
    for (const Block& block : *this) {
      const std::int64_t count = std::min(block.count, elements_left - before);
      if (count <= 0) return;
      function(Block{block.at, count}, before);
      before += count;
    }
  }
};

/// The element of -layout struct: 29 of its 32 bytes are data, and three bytes of padding precede the int.
struct ExampleStruct {
  double position[3];
  char kind;
  int number;
};

/// The value of -layout.
struct DataLayout {
  Placement placement = Placement::contiguous;
  std::int64_t block = 1;   ///< vector: elements in a block
  std::int64_t stride = 1;  ///< vector: elements from the beginning of a block to the beginning of the next
  bool operator==(const DataLayout&) const = default;

  constexpr bool has_gaps() const { return placement != Placement::contiguous; }
  constexpr Period period() const {
    switch (placement) {
      case Placement::contiguous:
        break;
      case Placement::vector:
        return {.all = {Block{0, block}}, .number = 1, .elements = block, .extent = stride};
      case Placement::indexed:
        return {.all = {Block{0, 5}, {7, 1}, {9, 8}, {20, 2}, {23, 6}, {33, 3}, {40, 7}, {52, 4}},
                .number = 8,
                .elements = 36,
                .extent = 64};
      case Placement::structure: {
        constexpr std::int64_t front = offsetof(ExampleStruct, kind) + 1,
                               back = offsetof(ExampleStruct, number);
        return {.all = {Block{0, front}, {back, sizeof(int)}},
                .number = 2,
                .elements = front + static_cast<std::int64_t>(sizeof(int)),
                .extent = sizeof(ExampleStruct)};
      }
    }
    return {.all = {Block{0, 1}}, .number = 1, .elements = 1, .extent = 1};
  }
};

/// "vector:2:8", as on the command line.
std::string name_of(const DataLayout& layout);

}  // namespace openimb
