// Contents under -check: what identifies an element, and what a comparison notices.
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "engine/content.h"

using namespace openimb;

namespace {

template <class T>
std::vector<T> written(const Content& content, int rank, std::int64_t first, std::int64_t count,
                       int gap = 1) {
  std::vector<T> memory(static_cast<std::size_t>(count * gap), T{});
  content.write(reinterpret_cast<std::byte*>(memory.data()), rank, first, count);
  return memory;
}

}  // namespace

TEST_CASE("messages differ between ranks and positions") {
  const Content content({DataType::byte, Contiguity::base}, false, 4);
  const auto mine = written<unsigned char>(content, 0, 0, 1000);
  const auto other = written<unsigned char>(content, 1, 0, 1000);
  const auto shifted = written<unsigned char>(content, 0, 1, 1000);
  int same_as_other = 0, same_as_shifted = 0;
  for (int i = 0; i < 1000; ++i) {
    same_as_other += mine[i] == other[i];
    same_as_shifted += mine[i] == shifted[i];
    CHECK(mine[i] != std::to_integer<unsigned char>(Content::armed));
  }
  CHECK(same_as_other < 20);
  CHECK(same_as_shifted < 20);
}

TEST_CASE("the contents of one repetition are not those of the next") {
  for (const bool reduction : {false, true}) {
    Content content({DataType::integer, Contiguity::base}, reduction, 4);
    const auto before = written<int>(content, 2, 0, 1000);
    content.begin_repetition(1);
    const auto after = written<int>(content, 2, 0, 1000);
    int same = 0;
    for (int i = 0; i < 1000; ++i) same += before[i] == after[i];
    CHECK(same < (reduction ? 500 : 20));  // reductions draw from three values
  }
}

TEST_CASE("a piece starts where it says") {
  const Content content({DataType::integer, Contiguity::base}, false, 2);
  const auto whole = written<int>(content, 1, 0, 10);
  std::vector<int> received(4, -1);
  content.write(std::as_writable_bytes(std::span(received)), 0, Piece{1, 6, 1, 3}, 2);
  CHECK(received == std::vector<int>{-1, whole[6], whole[7], whole[8]});
}

TEST_CASE("sums over all ranks are exact in every type, for few ranks and for many") {
  const int ranks = GENERATE(1, 2, 5, 64, 1000);
  const Content as_double({DataType::double_precision, Contiguity::base}, true, ranks);
  std::vector<double> sum(2000);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto one = written<double>(as_double, rank, 0, 2000);
    for (int i = 0; i < 2000; ++i) sum[i] += one[i];
  }
  std::vector<double> expected(2000);
  as_double.write(std::as_writable_bytes(std::span(expected)), 0, Piece{.count = 2000, .summed = ranks},
                  ranks);
  CHECK(sum == expected);
  CHECK(*std::max_element(sum.begin(), sum.end()) < 128);  // exact in bfloat16 and in a signed char
  CHECK(*std::max_element(sum.begin(), sum.end()) > 0);

  const Content as_bfloat16({DataType::bfloat16, Contiguity::base}, true, ranks);
  std::vector<std::uint16_t> narrow(2000);
  as_bfloat16.write(std::as_writable_bytes(std::span(narrow)), 0, Piece{.count = 2000, .summed = ranks},
                    ranks);
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(narrow[i]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    CHECK(value == expected[i]);
  }
}

TEST_CASE("float16 holds small integers exactly") {
  const Content content({DataType::float16, Contiguity::base}, true, 2);
  const auto bits = written<std::uint16_t>(content, 0, 0, 1021);
  const Content reference({DataType::integer, Contiguity::base}, true, 2);
  const auto values = written<int>(reference, 0, 0, 1021);
  const std::uint16_t encodings[] = {0x0000, 0x3C00, 0x4000, 0x4200};  // 0, 1, 2, 3 in IEEE 754 binary16
  for (int i = 0; i < 1021; ++i) CHECK(bits[i] == encodings[values[i]]);
}

TEST_CASE("every rank contributes to a reduction somewhere, however many there are") {
  const Content content({DataType::integer, Contiguity::base}, true, 1000);
  for (int rank = 0; rank < 1000; rank += 37) {
    const auto values = written<int>(content, rank, 0, 1021);
    CHECK(std::any_of(values.begin(), values.end(), [](int value) { return value != 0; }));
  }
}

TEST_CASE("gaps between resized elements are left alone") {
  const Content content({DataType::integer, Contiguity::resized}, false, 2);
  const auto memory = written<int>(content, 0, 0, 5, 2);
  for (int i = 0; i < 5; ++i) CHECK(memory[2 * i + 1] == 0);
}

TEST_CASE("differences are counted in bytes") {
  std::vector<std::byte> a(100, std::byte{1}), b = a;
  CHECK(count_differences(a, b) == 0);
  b[3] = b[99] = std::byte{2};
  CHECK(count_differences(a, b) == 2);
}

TEST_CASE("timing buffers hold BUF_VALUE") {
  std::vector<float> memory(10);
  fill_for_timing(std::as_writable_bytes(std::span(memory)), 0, {DataType::byte, Contiguity::base}, Spec{},
                  2);
  for (int i = 0; i < 10; ++i) CHECK(memory[i] == Approx(0.1 * 3 + i));
  std::vector<double> doubles(4);
  fill_for_timing(std::as_writable_bytes(std::span(doubles)), 0,
                  {DataType::double_precision, Contiguity::base}, Spec{.reduction = true}, 0);
  CHECK(doubles[3] == Approx(3.1));
}
