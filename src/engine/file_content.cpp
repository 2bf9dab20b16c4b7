#include "engine/file_content.h"

#include <algorithm>

#include "plan/random.h"

namespace openimb {

namespace {

constexpr std::int64_t word = 8;

constexpr std::uint64_t word_at(std::int64_t index) {
  return SplitMix(static_cast<std::uint64_t>(index) * SplitMix::step).next();
}

// Calls use(index, expected byte) for `size` bytes of a file from `position` on.
template <class Use>
void for_each_byte(std::size_t size, std::int64_t position, Use use) {
  std::int64_t word_index = -1;
  std::uint64_t contents = 0;
  for (std::size_t i = 0; i < size; ++i, ++position) {
    if (const std::int64_t index = position / word; index != word_index) {
      word_index = index;
      contents = word_at(index);
    }
    use(i, static_cast<std::byte>(contents >> (8 * (position % word)) & 0xFF));
  }
}

}  // namespace

void fill_as_file(std::span<std::byte> memory, std::int64_t position) {
  for_each_byte(memory.size(), position, [&](std::size_t i, std::byte value) { memory[i] = value; });
}

std::int64_t count_file_defects(std::span<const std::byte> memory, std::int64_t position) {
  std::int64_t wrong = 0;
  for_each_byte(memory.size(), position,
                [&](std::size_t i, std::byte value) { wrong += memory[i] != value ? 1 : 0; });
  return wrong;
}

void Fingerprint::add(std::span<const std::byte> part) {
  for (const std::byte value : part) hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x100000001B3U;
}

void Blocks::add(std::uint64_t fingerprint, std::int64_t bytes) {
  ++counts_[fingerprint];
  bytes_left_ += bytes;
}

bool Blocks::take(std::uint64_t fingerprint, std::int64_t bytes) {
  const auto count = counts_.find(fingerprint);
  if (count == counts_.end()) return false;
  if (--count->second == 0) counts_.erase(count);
  bytes_left_ -= bytes;
  return true;
}

}  // namespace openimb
