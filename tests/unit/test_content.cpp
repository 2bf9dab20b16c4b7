// Contents under -check: what identifies an element, and which differences a comparison finds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
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

TEST_CASE("successive repetitions have different contents") {
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

TEST_CASE("a piece starts at its position") {
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

namespace {

constexpr Element all_elements[] = {{DataType::byte, Contiguity::base},
                                    {DataType::byte, Contiguity::resized},
                                    {DataType::integer, Contiguity::base},
                                    {DataType::integer, Contiguity::resized},
                                    {DataType::double_precision, Contiguity::resized_vector},
                                    {DataType::bfloat16, Contiguity::resized},
                                    {DataType::float16, Contiguity::base_vector}};

// Composes an image of `bytes` bytes in chunks.
std::vector<std::byte> composed(const Content& content, const Piece& piece, int held_rank, std::int64_t bytes,
                                std::int64_t chunk) {
  std::vector<std::byte> image(static_cast<std::size_t>(bytes), Content::armed);
  for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
    const std::int64_t length = std::min(chunk, bytes - begin);
    content.write(std::span(image).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length)),
                  begin, piece, held_rank);
  }
  return image;
}

}  // namespace

TEST_CASE("a piece composed in chunks equals the whole piece, at every boundary") {
  for (const Element& element : all_elements) {
    for (const bool reduction : {false, true}) {
      Content content(element, reduction, 5);
      content.begin_repetition(3);
      const std::int64_t bytes = 40 * element.extent();
      for (const Piece& piece : {Piece{.rank = 2, .send_at = 7, .receive_at = 5, .count = 23},
                                 Piece{.send_at = 3, .receive_at = 1, .count = 30, .summed = 4},
                                 Piece{.rank = 1, .receive_at = 0, .count = 40, .added = true}}) {
        if (!reduction && (piece.summed > 0 || piece.added)) continue;
        const auto whole = composed(content, piece, 5, bytes, bytes);
        for (std::int64_t elements = 1; elements <= 40; ++elements) {
          INFO(static_cast<int>(element.type) << " in chunks of " << elements << " elements");
          REQUIRE(composed(content, piece, 5, bytes, elements * element.extent()) == whole);
        }
      }
    }
  }
}

TEST_CASE("an image does not change outside of a piece") {
  const Content content({DataType::integer, Contiguity::resized}, false, 2);
  const auto image = composed(content, {.rank = 1, .receive_at = 2, .count = 3}, 2, 80, 80);
  for (std::size_t i = 0; i < 80; ++i) {
    const bool inside = i >= 16 && i < 40 && i % 8 < 4;
    INFO("byte " << i);
    if (!inside) CHECK(image[i] == Content::armed);
  }
  CHECK(std::count(image.begin(), image.end(), Content::armed) >= 80 - 12);
}

TEST_CASE("a last element without its gap still belongs to the image") {
  // The memory of a resized type may end with the data of its last element.
  const Content content({DataType::integer, Contiguity::resized}, false, 2);
  const auto longer = composed(content, {.rank = 1, .count = 4}, 2, 32, 32);
  const auto shorter = composed(content, {.rank = 1, .count = 4}, 2, 28, 28);
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST_CASE("sums include only the first ranks") {
  const int ranks = 40;  // more than contribute to any one element
  const Content content({DataType::integer, Contiguity::base}, true, ranks);
  std::vector<int> sum(1500);
  for (int first = 1; first <= ranks; ++first) {
    const auto next = written<int>(content, first - 1, 11, 1500);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    std::vector<int> expected(1500);
    content.write(std::as_writable_bytes(std::span(expected)), 0,
                  Piece{.send_at = 11, .count = 1500, .summed = first}, ranks);
    REQUIRE(sum == expected);
  }
}

TEST_CASE("an accumulated value is added to the contents of the receive buffer") {
  const Content content({DataType::integer, Contiguity::base}, true, 3);
  const auto held = written<int>(content, 3, 0, 100);
  const auto one = written<int>(content, 1, 0, 100);
  std::vector<int> sums(100), expected(100);
  content.write(std::as_writable_bytes(std::span(sums)), 0, Piece{.count = 100, .summed = 3}, 3);
  SECTION("one rank's") {
    content.write(std::as_writable_bytes(std::span(expected)), 0,
                  Piece{.rank = 1, .count = 100, .added = true}, 3);
    for (std::size_t i = 0; i < 100; ++i) CHECK(expected[i] == one[i] + held[i]);
  }
  SECTION("a sum") {
    content.write(std::as_writable_bytes(std::span(expected)), 0,
                  Piece{.count = 100, .added = true, .summed = 3}, 3);
    for (std::size_t i = 0; i < 100; ++i) CHECK(expected[i] == sums[i] + held[i]);
  }
}

TEST_CASE("a timing buffer filled in chunks equals one filled at once") {
  for (const Element& element : all_elements) {
    for (const bool reduction : {false, true}) {
      const Spec spec{.reduction = reduction};
      std::vector<std::byte> whole(1000), pieces(1000);
      fill_for_timing(whole, 0, element, spec, 3);
      for (std::size_t at = 0; at < 1000; at += 48) {
        const std::size_t bytes = std::min<std::size_t>(48, 1000 - at);
        fill_for_timing(std::span(pieces).subspan(at, bytes), static_cast<std::int64_t>(at), element, spec,
                        3);
      }
      CHECK(pieces == whole);
    }
  }
}

TEST_CASE("far into a buffer integers wrap around") {
  constexpr std::int64_t first = std::int64_t{1} << 31;
  std::vector<int> ints(4);
  fill_for_timing(std::as_writable_bytes(std::span(ints)), 4 * first, {DataType::integer, Contiguity::base},
                  {.reduction = true}, 2);
  constexpr int least = std::numeric_limits<int>::min();
  CHECK(ints == std::vector{least, least + 1, least + 2, least + 3});
  std::vector<std::int8_t> bytes(16);
  fill_for_timing(std::as_writable_bytes(std::span(bytes)), 192, {DataType::byte, Contiguity::base},
                  {.reduction = true}, 2);
  CHECK(bytes[0] == -64);
  CHECK(bytes[15] == -49);
}

TEST_CASE("compared operands are zero, and so is an incomplete element") {
  std::vector<std::byte> image(10, std::byte{1});
  fill_for_timing(image, 0, {DataType::integer, Contiguity::base}, {.one_sided = {.compares = true}}, 2);
  CHECK(std::count(image.begin(), image.end(), std::byte{0}) == 10);
  image.assign(10, std::byte{1});
  fill_for_timing(image, 0, {}, {}, 2);
  CHECK((image[8] == std::byte{0} && image[9] == std::byte{0}));
}

TEST_CASE("empty images do not differ") { CHECK(count_differences({}, {}) == 0); }

TEST_CASE(
    "messages with gaps: elements lie where the layout puts them, and a part of an image equals that part of "
    "the whole") {
  const DataLayout layouts[] = {{.placement = Placement::vector, .block = 1, .stride = 3},
                                {.placement = Placement::vector, .block = 3, .stride = 4},
                                {.placement = Placement::indexed},
                                {.placement = Placement::structure}};
  for (const DataLayout& layout : layouts) {
    const bool record = layout.placement == Placement::structure;
    const Element element{.type = record ? DataType::byte : DataType::integer, .layout = layout};
    const std::int64_t size = element.size();
    const Spec spec{.receive = Messages::two};
    const Geometry geometry = plan_geometry(spec, 50 * size, 2, element, std::nullopt);
    const Content content(element, false, 2, geometry.elements, geometry.message_extent);
    const Content contiguous({element.type}, false, 2);
    const std::int64_t first = 7, count = 80;  // from the first message into the second
    std::vector<std::byte> plain(static_cast<std::size_t>(count * size));
    contiguous.write(plain.data(), 1, 11, count);

    std::vector<std::byte> whole(static_cast<std::size_t>(geometry.receive.footprint), Content::armed);
    const Piece piece{.rank = 1, .send_at = 11, .receive_at = first, .count = count};
    content.write(whole, 0, piece, 0);
    std::vector<std::byte> expected(whole.size(), Content::armed);
    const Period period = layout.period();
    std::vector<std::int64_t> places;
    for (int message = 0; message < 2; ++message) {
      std::int64_t left = geometry.elements;
      for (std::int64_t at = message * geometry.message_extent; left > 0; at += period.extent * size) {
        for (const Block& block : period) {
          for (std::int64_t i = 0; i < block.count && left > 0; ++i, --left) {
            places.push_back(at + (block.at + i) * size);
          }
        }
      }
    }
    REQUIRE(places.size() == 100);
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(&expected[static_cast<std::size_t>(places[static_cast<std::size_t>(first + i)])],
                  &plain[static_cast<std::size_t>(i * size)], static_cast<std::size_t>(size));
    }
    CHECK(whole == expected);

    for (const std::int64_t chunk : {16, 48, 112}) {
      std::vector<std::byte> parts;
      for (std::int64_t begin = 0; begin < geometry.receive.footprint; begin += chunk) {
        std::vector<std::byte> part(
            static_cast<std::size_t>(std::min(chunk, geometry.receive.footprint - begin)), Content::armed);
        content.write(part, begin, piece, 0);
        parts.insert(parts.end(), part.begin(), part.end());
      }
      CHECK(parts == expected);
    }
  }
}
