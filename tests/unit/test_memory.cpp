// Host memory: its alignment, and that images are read as they were written.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "memory/memory.h"

using namespace openimb;
using Image = std::vector<std::byte>;

namespace {

std::unique_ptr<Memory> host(std::int64_t bytes) { return allocate_memory(MemoryKind::host, bytes); }

Image counting(std::size_t bytes, int first) {
  Image image(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    image[i] = static_cast<std::byte>((first + static_cast<int>(i)) % 251);
  return image;
}

Image read(const Memory& memory, std::int64_t at, std::size_t bytes) {
  Image image(bytes);
  memory.read(at, image);
  return image;
}

}  // namespace

TEST_CASE("host memory begins with a page and has the size asked for") {
  for (const std::int64_t bytes : {1, 63, 4096, 4097, 1 << 20}) {
    const auto memory = host(bytes);
    CHECK(memory->kind() == MemoryKind::host);
    CHECK(memory->bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory->address()) % 4096 == 0);
  }
}

TEST_CASE("memory of zero bytes is possible") {
  const auto memory = host(0);
  CHECK(memory->bytes() == 0);
  CHECK(memory->address() != nullptr);
  memory->write(0, {});
  memory->read(0, {});
}

TEST_CASE("bytes written at any offset are read there, and no others change") {
  const auto memory = host(10000);
  const Image before = counting(10000, 0);
  for (const std::int64_t at : {0, 1, 7, 4095, 4096, 9000}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{13}, std::size_t{999}}) {
      memory->write(0, before);
      const Image image = counting(bytes, 100);
      memory->write(at, image);
      CHECK(read(*memory, at, bytes) == image);
      Image expected = before;
      std::memcpy(expected.data() + at, image.data(), bytes);
      CHECK(read(*memory, 0, 10000) == expected);
    }
  }
}

TEST_CASE("an empty image at the very end is allowed") {
  const auto memory = host(10);
  memory->write(10, {});
  memory->read(10, {});
}

TEST_CASE("an image written in pieces is read as a whole") {
  const auto memory = host(1000);
  const Image whole = counting(1000, 5);
  for (std::size_t at = 0; at < 1000; at += 37) {
    const std::size_t bytes = std::min<std::size_t>(37, 1000 - at);
    memory->write(static_cast<std::int64_t>(at), std::span(whole).subspan(at, bytes));
  }
  CHECK(read(*memory, 0, 1000) == whole);
}

TEST_CASE("a request that no machine can satisfy is bad_alloc, and a smaller one succeeds afterwards",
          "[beyond-sanitizers]") {
  CHECK_THROWS_AS(host(std::numeric_limits<std::int64_t>::max() / 2), std::bad_alloc);
  CHECK(host(4096)->bytes() == 4096);
}

TEST_CASE("adopted memory belongs to its owner and outlives the wrapper") {
  alignas(64) std::byte window[100] = {};
  {
    const auto memory = adopt_memory(MemoryKind::host, window, 100);
    CHECK(memory->address() == window);
    CHECK(memory->bytes() == 100);
    memory->write(3, counting(5, 1));
  }
  CHECK(window[2] == std::byte{0});
  CHECK(window[3] == std::byte{1});
  CHECK(window[7] == std::byte{5});
  CHECK(window[8] == std::byte{0});
}

TEST_CASE("an empty window is memory without an address") {
  const auto memory = adopt_memory(MemoryKind::host, nullptr, 0);
  CHECK(memory->address() == nullptr);
  memory->write(0, {});
  memory->read(0, {});
}
