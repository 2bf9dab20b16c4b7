// The contents of files under -check, which depend only on the position in the file, and fingerprints to
// identify blocks that may have any order. The functions are pure and make no MPI calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace openimb {

/// Fills `memory` with the contents of a file from byte `position` on. The contents do not repeat, so -check
/// finds misplaced bytes, and have no runs of zeros, so -check finds holes.
void fill_as_file(std::span<std::byte> memory, std::int64_t position);

/// Number of bytes of `memory` that differ from the contents of a file from byte `position` on.
std::int64_t count_file_defects(std::span<const std::byte> memory, std::int64_t position);

/// The 64-bit FNV-1a hash of a block, computed in parts. Source: Fowler, Noll, Vo; IETF draft-eastlake-fnv.
class Fingerprint {
 public:
  void add(std::span<const std::byte> part);
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// A set of blocks, identified by fingerprint, each of which must be found once. The order does not matter.
class Blocks {
 public:
  void add(std::uint64_t fingerprint, std::int64_t bytes);
  /// Removes a block with this fingerprint. Returns false if there is none.
  bool take(std::uint64_t fingerprint, std::int64_t bytes);
  /// Bytes of the blocks that were not found.
  std::int64_t bytes_left() const { return bytes_left_; }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::int64_t bytes_left_ = 0;
};

/// Looks for all blocks in a file of `bytes` bytes that should consist of them. Each block has `longer` or
/// `shorter` bytes; if both are 0, the file should be empty. fingerprint_at(position, length) returns the
/// fingerprint of that part of the file. Returns the number of bytes of missing blocks or the number of bytes
/// that belong to no block, whichever is larger.
template <class FingerprintAt>
std::int64_t count_misplaced(Blocks& blocks, std::int64_t bytes, std::int64_t longer, std::int64_t shorter,
                             FingerprintAt fingerprint_at) {
  if (longer == 0) return bytes;
  std::int64_t other_bytes = 0;
  const auto take_block = [&](std::int64_t position, std::int64_t length) {
    if (length == 0 || position + length > bytes) return false;
    return blocks.take(fingerprint_at(position, length), length);
  };
  for (std::int64_t position = 0; position < bytes;) {
    if (take_block(position, longer)) {
      position += longer;
    } else if (shorter != longer && take_block(position, shorter)) {
      position += shorter;
    } else {
      const std::int64_t step = shorter > 0 ? shorter : longer;
      other_bytes += step < bytes - position ? step : bytes - position;
      position += step;
    }
  }
  const std::int64_t missing = blocks.bytes_left();
  return other_bytes > missing ? other_bytes : missing;
}

}  // namespace openimb
