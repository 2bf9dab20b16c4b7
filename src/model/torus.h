// A periodic grid with any number of dimensions over the ranks of a group. It computes the neighbors of each
// rank without calling MPI. Source: MPI 4.0, section 8.5.2 (MPI_Dims_create).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace openimb {

inline constexpr int max_dimensions = 5;  ///< 242 neighbors with edges and corners

/// The neighbors in a torus with which a benchmark exchanges messages. If it has 0 dimensions, the benchmark
/// has no stencil.
struct Stencil {
  int dimensions = 0;
  bool corners = false;  ///< edges and corners also have neighbors, not only faces

  constexpr int neighbors() const {
    if (!corners) return 2 * dimensions;
    int count = 1;
    for (int i = 0; i < dimensions; ++i) count *= 3;
    return count - 1;
  }
};

namespace torus {

// Splits `number` into `dimensions` factors, each at most `most`, so that the largest factor is as small as
// possible. Returns the largest factor, or 0 if there is no such split.
inline int least_largest_factor(int number, int dimensions, int most) {
  if (dimensions == 1) return number <= most ? number : 0;
  for (int largest = 1; largest <= std::min(number, most); ++largest) {
    if (number % largest == 0 && least_largest_factor(number / largest, dimensions - 1, largest) > 0) {
      return largest;
    }
  }
  return 0;
}

}  // namespace torus

/// A periodic grid in row-major order: the coordinate of the last dimension varies fastest with the rank.
class Torus {
 public:
  explicit Torus(std::vector<int> extents) : extents_(std::move(extents)) {}
  /// Extents as equal as the number of ranks allows, in ascending order.
  Torus(int ranks, int dimensions) {
    for (; dimensions > 0; --dimensions) {
      extents_.push_back(
          torus::least_largest_factor(ranks, dimensions, extents_.empty() ? ranks : extents_.back()));
      ranks /= extents_.back();
    }
    std::ranges::reverse(extents_);
  }

  const std::vector<int>& extents() const { return extents_; }
  /// Whether no rank is its own neighbor across a face.
  bool is_proper() const { return !extents_.empty() && extents_.front() > 1; }
  /// "2 x 2 x 2".
  std::string name() const {
    std::string text;
    for (const int extent : extents_) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
  }

  /// Ranks of the neighbors. Opposite neighbors have mirrored positions in the list: see opposite(). If an
  /// extent is 1 or 2, a rank occurs more than once.
  std::vector<int> neighbors(int rank, bool corners) const {
    std::vector<int> ranks;
    const std::size_t dimensions = extents_.size();
    std::vector<int> step(dimensions, -1);  // counts through -1, 0 and 1 in every dimension
    for (bool more = true; more;) {
      const auto moved = std::ranges::count_if(step, [](int coordinate) { return coordinate != 0; });
      if (moved == 1 || (corners && moved > 1)) ranks.push_back(neighbor_at(rank, step));
      more = false;
      for (std::size_t i = dimensions; i-- > 0 && !more;) {
        more = step[i] < 1;
        step[i] = more ? step[i] + 1 : -1;
      }
    }
    return ranks;
  }
  /// The neighbors across faces in MPI's order: for each dimension, the neighbor in negative direction, then
  /// the one in positive direction. Source: MPI 4.1, section 8.6.
  std::vector<int> neighbors_in_pairs(int rank) const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      for (const int direction : {-1, 1}) {
        std::vector<int> step(extents_.size(), 0);
        step[i] = direction;
        ranks.push_back(neighbor_at(rank, step));
      }
    }
    return ranks;
  }
  /// Position in neighbors() of the neighbor opposite to position `i`, if there are `count` neighbors.
  static constexpr int opposite(int i, int count) { return count - 1 - i; }

 private:
  int neighbor_at(int rank, const std::vector<int>& step) const {
    int moved = 0, stride = 1;
    for (std::size_t i = extents_.size(); i-- > 0;) {
      const int extent = extents_[i];
      moved += (rank % extent + step[i] + extent) % extent * stride;
      rank /= extent;
      stride *= extent;
    }
    return moved;
  }

  std::vector<int> extents_;
};

}  // namespace openimb
