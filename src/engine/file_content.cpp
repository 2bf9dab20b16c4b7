#include "engine/file_content.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "engine/random_bytes.h"
#include "model/random.h"

namespace openimb {

namespace {

// Calls function(index, pointer to expected bytes, number of bytes) for each word of `size` bytes of a file
// from `position` on.
template <class Function>
void for_each_word(std::int64_t size, std::int64_t position, Function function) {
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t place = (position + i) % word_size, index = (position + i) / word_size;
    const auto word = bytes_of(SplitMix(static_cast<std::uint64_t>(index) * SplitMix::step).next());
    const std::int64_t some = std::min(word_size - place, size - i);
    // A full word has a constant length, so that the compiler copies it with one instruction.
    if (some == word_size) {
      function(i, word.data(), std::integral_constant<std::size_t, word_size>{});
    } else {
      function(i, word.data() + place, static_cast<std::size_t>(some));
    }
    i += some;
  }
}

}  // namespace

void fill_as_file(std::span<std::byte> memory, std::int64_t position) {
  for_each_word(std::ssize(memory), position, [&](std::int64_t i, const std::byte* expected, auto some) {
    std::memcpy(memory.data() + i, expected, some);
  });
}

std::int64_t count_file_defects(std::span<const std::byte> memory, std::int64_t position) {
  std::int64_t wrong = 0;
  for_each_word(std::ssize(memory), position, [&](std::int64_t i, const std::byte* expected, auto some) {
    std::uint64_t actual = 0, wanted = 0;
    std::memcpy(&actual, memory.data() + i, some);
    std::memcpy(&wanted, expected, some);
    for (std::uint64_t differs = actual ^ wanted; differs != 0; differs >>= 8) {
      wrong += (differs & 0xFF) != 0 ? 1 : 0;
    }
  });
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
