// What files hold, as a function of the place alone, and how blocks that came to lie in any order are
// distinguished. Pure, no MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace openimb {

/// Fills `memory` with what a file holds from byte `position` on. It never repeats: what landed elsewhere is
/// wrong, and so is what is missing, as it is nowhere a run of zeros.
void fill_as_file(std::span<std::byte> memory, std::int64_t position);

/// Number of bytes of `memory` that differ from what a file holds from byte `position` on.
std::int64_t count_file_defects(std::span<const std::byte> memory, std::int64_t position);

/// 64-bit FNV-1a of a block that comes in parts. Source: Fowler, Noll, Vo; IETF draft-eastlake-fnv.
class Fingerprint {
 public:
  void add(std::span<const std::byte> part);
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325U;
};

/// Blocks of known contents, each of which must turn up once, in whatever order.
class Blocks {
 public:
  void add(std::uint64_t fingerprint, std::int64_t bytes);
  /// Whether one like this is left; it is then one fewer.
  bool take(std::uint64_t fingerprint, std::int64_t bytes);
  /// Bytes of those that did not turn up.
  std::int64_t bytes_left() const { return bytes_left_; }

 private:
  std::unordered_map<std::uint64_t, std::int64_t> counts_;
  std::int64_t bytes_left_ = 0;
};

/// Takes all blocks out of a file of `bytes` bytes that should be made of nothing else, each of `longer` or
/// `shorter` bytes. `fingerprint_at(position, length)`: of the file's contents there. Returns the bytes that
/// were missing or left over, whichever is more.
template <class FingerprintAt>
std::int64_t count_misplaced(Blocks& blocks, std::int64_t bytes, std::int64_t longer, std::int64_t shorter,
                             FingerprintAt fingerprint_at) {
  std::int64_t left_over = 0;
  const auto found = [&](std::int64_t position, std::int64_t length) {
    if (length == 0 || position + length > bytes) return false;
    return blocks.take(fingerprint_at(position, length), length);
  };
  for (std::int64_t position = 0; position < bytes;) {
    if (found(position, longer)) {
      position += longer;
    } else if (shorter != longer && found(position, shorter)) {
      position += shorter;
    } else {
      const std::int64_t step = shorter > 0 ? shorter : longer;
      left_over += step < bytes - position ? step : bytes - position;
      position += step;
    }
  }
  const std::int64_t missing = blocks.bytes_left();
  return left_over > missing ? left_over : missing;
}

}  // namespace openimb
