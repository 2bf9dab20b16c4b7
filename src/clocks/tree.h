// The binomial tree along which clocks are synchronized. Each round halves the distance between parent and
// child.
#pragma once

#include <bit>
#include <optional>

namespace openimb {

/// The parent of `index`. The root is 0.
constexpr int parent_in_tree(int index) { return index & (index - 1); }

/// The distance between parent and child in the first round, for a tree of `count` nodes; 0 if there is no
/// child.
constexpr int first_stride(int count) {
  return count > 1 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1))) : 0;
}

/// The node with which `index` compares its clock outside the tree, or nothing. This finds errors that
/// comparisons along the tree cannot show. Each pair consists of an odd index and the next one. They share no
/// edge and are far apart in the tree.
constexpr std::optional<int> partner_off_tree(int index, int count) {
  const int partner = index % 2 == 1 ? index + 1 : index - 1;
  if (index == 0 || partner >= count) return std::nullopt;
  return partner;
}

}  // namespace openimb
