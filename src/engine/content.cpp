#include "engine/content.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "engine/random_bytes.h"
#include "model/random.h"

namespace openimb {

namespace {

// The bits of a 16-bit float with the value `value`, a small nonnegative integer that it holds exactly.
std::uint16_t bits_of_16_bit_float(double value, int exponent_bits) {
  if (value == 0) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (exponent_bits == 8) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t exponent = ((bits >> 23) & 0xFF) - 127 + 15;
  return static_cast<std::uint16_t>(exponent << 10 | ((bits >> 13) & 0x3FF));
}

// Calls `function` with a function store(address, number) that converts the number to the element type.
template <class Function>
void use_store(DataType type, Function function) {
  const auto plain = [&]<class T>(T) {
    function([](std::byte* at, double value) {
      T typed;
      if constexpr (std::is_integral_v<T>) {
        // The cast of a double that does not fit into T is undefined behavior; a cast of an integer wraps
        // around.
        typed = static_cast<T>(static_cast<std::int64_t>(value));
      } else {
        typed = static_cast<T>(value);
      }
      std::memcpy(at, &typed, sizeof typed);
    });
  };
  switch (type) {
    case DataType::byte:
    case DataType::character:
      return plain(std::int8_t{});
    case DataType::integer:
      return plain(int{});
    case DataType::single_precision:
      return plain(float{});
    case DataType::double_precision:
      return plain(double{});
    case DataType::float16:
    case DataType::bfloat16: {
      const int exponent_bits = type == DataType::float16 ? 5 : 8;
      return function([exponent_bits](std::byte* at, double value) {
        const std::uint16_t bits = bits_of_16_bit_float(value, exponent_bits);
        std::memcpy(at, &bits, sizeof bits);
      });
    }
  }
}

std::uint64_t random_bits(int rank, std::int64_t index) {
  return SplitMix((static_cast<std::uint64_t>(rank) << 40) ^
                  (static_cast<std::uint64_t>(index) * SplitMix::step))
      .next();
}

// The contents of reductions repeat after this number of elements. It is a prime, so that segments whose
// length is a power of two differ, and small, so that a table can hold the sums over many ranks.
constexpr std::int64_t reduction_period = 1021;
// The largest number of ranks that contribute to an element. Each adds 1 to 3, so that a lost contribution is
// always a defect. Sums are at most 3 * 32, which bfloat16 (8 bits of precision) and a signed char hold
// exactly.
constexpr int ranks_that_contribute = 32;

int reduction_value(int rank, std::int64_t index, int ranks) {
  const std::int64_t place = index % reduction_period;
  const int stride = (ranks + ranks_that_contribute - 1) / ranks_that_contribute;
  if ((rank + place) % stride != 0) return 0;
  return static_cast<int>((random_bits(rank, place) >> 32) % 3) + 1;
}

int message_value(int rank, std::int64_t index, DataType type) {
  const std::uint64_t bits = random_bits(rank, index) >> 32;
  const bool small = type == DataType::float16 || type == DataType::bfloat16;
  return static_cast<int>(small ? bits % 256 : bits % (1U << 24));
}

// Replaces each of the eight bytes that equals Content::armed by 0xFF.
constexpr std::uint64_t replace_armed_bytes(std::uint64_t word) {
  constexpr std::uint64_t ones = 0x0101010101010101, low_bits = 0x7F * ones;
  const std::uint64_t other = word ^ (std::to_integer<std::uint64_t>(Content::armed) * ones);
  const std::uint64_t equal =
      ~(((other & low_bits) + low_bits) | other | low_bits);  // 0x80 where `other` is 0
  return word | (equal >> 7) * 0xFF;
}

// Writes byte messages. One random number gives the values of eight successive bytes.
void write_bytes(std::byte* at, int rank, std::int64_t first, std::int64_t count, std::int64_t stride) {
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t place = (first + i) % word_size, some = std::min(count - i, word_size - place);
    const std::uint64_t values = replace_armed_bytes(random_bits(rank, (first + i) / word_size));
    const std::array<std::byte, word_size> bytes = bytes_of(values >> (8 * place));
    if (stride == 1 && some == word_size) {
      std::memcpy(at + i, bytes.data(), word_size);
    } else {
      for (std::int64_t k = 0; k < some; ++k) at[(i + k) * stride] = bytes[static_cast<std::size_t>(k)];
    }
    i += some;
  }
}

}  // namespace

Filling filling_for_timing(const Element& element, const Spec& spec) {
  return {.type = spec.reduction ? element.type : DataType::single_precision,
          .zero = spec.one_sided.compares,
          .part = {}};
}

void fill_for_timing(std::span<std::byte> image, std::int64_t at, const Element& element, const Spec& spec,
                     int rank) {
  const auto [type, zero, part] = filling_for_timing(element, spec);
  if (zero) {
    std::ranges::fill(image, std::byte{0});
    return;
  }
  const bool narrow = type == DataType::float16 || type == DataType::bfloat16 || type == DataType::character;
  const std::int64_t size = describe(type).size;
  const auto count = static_cast<std::int64_t>(image.size()) / size;
  use_store(type, [&](auto store) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = at / size + i;
      const double value = 0.1 * (rank + 1) + static_cast<double>(index);
      store(image.data() + i * size, narrow ? static_cast<double>(index % 4) : value);
    }
  });
  std::fill(image.begin() + count * size, image.end(), std::byte{0});
}

Content::Content(const Element& element, bool reduction, int ranks, std::int64_t message,
                 std::int64_t message_extent)
    : element_(element),
      reduction_(reduction),
      ranks_(ranks),
      message_(message),
      message_extent_(message_extent) {}

// Sums over ranks 0 to `ranks` - 1, by position in the period. One table is enough, because a rank expects
// sums over the same ranks in all repetitions.
const std::vector<double>& Content::sums_of_first(int ranks) const {
  if (summed_ == ranks) return sums_;
  sums_.assign(reduction_period, 0);
  for (std::size_t place = 0; place < sums_.size(); ++place) {
    for (int rank = 0; rank < ranks; ++rank) {
      sums_[place] += reduction_value(rank, static_cast<std::int64_t>(place), ranks_);
    }
  }
  summed_ = ranks;
  return sums_;
}

void Content::begin_repetition(std::int64_t repetition, int thread) {
  // Primes other than reduction_period, and much larger than a cache line.
  constexpr std::int64_t repetition_step = 1000003, thread_step = 7368787;
  shift_ = repetition * repetition_step + thread * thread_step;
}

void Content::write(std::byte* at, int rank, std::int64_t first, std::int64_t count) const {
  const std::int64_t stride = element_.extent();
  first += shift_;
  if (!reduction_ && element_.size() == 1) return write_bytes(at, rank, first, count, stride);
  use_store(element_.type, [&](auto store) {
    for (std::int64_t i = 0; i < count; ++i) {
      store(at + i * stride, reduction_ ? reduction_value(rank, first + i, ranks_)
                                        : message_value(rank, first + i, element_.type));
    }
  });
}

// Writes a piece of a layout with gaps, block by block. Blocks outside the image are skipped.
void Content::write_with_gaps(std::span<std::byte> image, std::int64_t begin, const Piece& piece) const {
  if (message_extent_ == 0) return;
  const Period period = element_.layout.period();
  const std::int64_t size = element_.size(), end = begin + static_cast<std::int64_t>(image.size());
  const std::int64_t last = piece.receive_at + piece.count;
  const auto write_block = [&](std::int64_t i, std::int64_t at, std::int64_t count) {
    const std::int64_t from = std::clamp<std::int64_t>((begin - at) / size, 0, count);
    const std::int64_t to = std::clamp<std::int64_t>((end - at + size - 1) / size, from, count);
    write(image.data() + (at + from * size - begin), piece.rank, piece.send_at + i + from - piece.receive_at,
          to - from);
  };
  for (std::int64_t message = begin / message_extent_; message * message_extent_ < end; ++message) {
    const std::int64_t base = message * message_extent_, first = message * message_;
    const std::int64_t skipped_periods = std::max<std::int64_t>(0, begin - base) / (period.extent * size);
    std::int64_t row = skipped_periods * period.elements;
    for (std::int64_t at = base + skipped_periods * period.extent * size; row < message_ && at < end;
         row += period.elements, at += period.extent * size) {
      period.for_each_block(message_ - row, [&](const Block& block, std::int64_t in_row) {
        const std::int64_t i = first + row + in_row;
        const std::int64_t from = std::max(i, piece.receive_at), to = std::min(i + block.count, last);
        if (from < to) write_block(from, at + (block.at + from - i) * size, to - from);
      });
    }
  }
}

void Content::write(std::span<std::byte> image, std::int64_t begin, const Piece& piece, int held_rank) const {
  if (element_.layout.has_gaps()) return write_with_gaps(image, begin, piece);
  const std::int64_t stride = element_.extent();
  const std::int64_t from = std::max(piece.receive_at, begin / stride);
  const std::int64_t end = begin + static_cast<std::int64_t>(image.size());
  const std::int64_t to = std::min(piece.receive_at + piece.count, (end + stride - 1) / stride);
  if (from >= to) return;
  Piece part = piece;
  part.send_at += from - piece.receive_at;
  part.count = to - from;
  std::byte* const at = image.data() + (from * stride - begin);
  if (part.summed == 0 && !part.added) return write(at, part.rank, part.send_at, part.count);
  write_sums(at, part, held_rank);
}

void Content::write_sums(std::byte* at, const Piece& part, int held_rank) const {
  const std::int64_t stride = element_.extent();
  const std::vector<double>* const sums = part.summed > 0 ? &sums_of_first(part.summed) : nullptr;
  use_store(element_.type, [&](auto store) {
    for (std::int64_t i = 0; i < part.count; ++i) {
      const std::int64_t index = part.send_at + shift_ + i;
      const double sum = sums != nullptr ? (*sums)[static_cast<std::size_t>(index % reduction_period)]
                                         : reduction_value(part.rank, index, ranks_);
      store(at + i * stride, sum + (part.added ? reduction_value(held_rank, index, ranks_) : 0));
    }
  });
}

std::int64_t count_differences(std::span<const std::byte> actual, std::span<const std::byte> expected) {
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), expected.size()) == 0) return 0;
  return std::inner_product(actual.begin(), actual.end(), expected.begin(), std::int64_t{0}, std::plus<>(),
                            [](std::byte a, std::byte b) { return a != b ? 1 : 0; });
}

}  // namespace openimb
