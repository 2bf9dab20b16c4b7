// The tree in which clocks are synchronized: binomial, so that each round halves the distance.
#pragma once

#include <bit>
#include <optional>

namespace openimb {

/// Of `index` in the tree with the root 0.
constexpr int parent_in_tree(int index) { return index & (index - 1); }

/// The distance of the children of the first round among `count`.
constexpr int first_stride(int count) {
  return count > 1 ? static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1))) : 0;
}

/// The one to which `index` compares its clock although the tree does not: what agrees with its parents may
/// still be off. Pairs of an odd index and the next one share no edge and are far apart in the tree.
constexpr std::optional<int> partner_off_tree(int index, int count) {
  const int partner = index % 2 == 1 ? index + 1 : index - 1;
  if (index == 0 || partner >= count) return std::nullopt;
  return partner;
}

}  // namespace openimb
