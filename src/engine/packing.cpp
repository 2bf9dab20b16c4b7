#include "engine/packing.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "memory/memory.h"
#include "plan/saturating.h"

namespace openimb {

namespace {

// Calls use(offset in the message with gaps, offset in the contiguous message, length) for each block, in
// bytes.
template <class Use>
void for_each_block(const Gaps& gaps, const Use& use) {
  const std::int64_t size = gaps.size, extent = gaps.period.extent * size;
  std::int64_t left = gaps.elements * size, packed = 0;
  for (std::int64_t at = 0; left > 0; at += extent) {
    for (const Block& block : gaps.period) {
      const std::int64_t bytes = std::min(block.count * size, left);
      use(at + block.at * size, packed, bytes);
      packed += bytes;
      left -= bytes;
    }
  }
}

// Calls `use` for the elements of a column: single elements at equal distances. The compiler must assume that
// copies may overwrite `gaps`, so `gaps` is read before the loop.
template <class T, class Use>
void for_each_single(const Gaps& gaps, const Use& use) {
  const std::int64_t elements = gaps.elements, extent = gaps.period.extent * std::int64_t{sizeof(T)};
  for (std::int64_t i = 0; i < elements; ++i) use(i * extent, i);
}

bool is_column(const Gaps& gaps) { return gaps.period.number == 1 && gaps.period.elements == 1; }

template <class T>
void pack_column(const Gaps& gaps, const char* from, char* to) {
  for_each_single<T>(gaps, [=](std::int64_t at, std::int64_t i) {
    std::memcpy(to + i * std::int64_t{sizeof(T)}, from + at, sizeof(T));
  });
}
template <class T>
void unpack_column(const Gaps& gaps, const char* from, char* to) {
  for_each_single<T>(gaps, [=](std::int64_t at, std::int64_t i) {
    std::memcpy(to + at, from + i * std::int64_t{sizeof(T)}, sizeof(T));
  });
}

// Calls `use` with an integer of `size` bytes: 1, 2, 4 or 8.
template <class Use>
void with_integer_of(std::int64_t size, const Use& use) {
  if (size == 1) return use(std::uint8_t{});
  if (size == 2) return use(std::uint16_t{});
  if (size == 4) return use(std::uint32_t{});
  return use(std::uint64_t{});
}

}  // namespace

void pack_by_hand(const Gaps& gaps, const char* from, char* to) {
  if (is_column(gaps)) {
    return with_integer_of(gaps.size, [&]<class T>(T) { pack_column<T>(gaps, from, to); });
  }
  for_each_block(gaps, [=](std::int64_t at, std::int64_t packed, std::int64_t bytes) {
    std::memcpy(to + packed, from + at, static_cast<std::size_t>(bytes));
  });
}

void unpack_by_hand(const Gaps& gaps, const char* from, char* to) {
  if (is_column(gaps)) {
    return with_integer_of(gaps.size, [&]<class T>(T) { unpack_column<T>(gaps, from, to); });
  }
  for_each_block(gaps, [=](std::int64_t at, std::int64_t packed, std::int64_t bytes) {
    std::memcpy(to + at, from + packed, static_cast<std::size_t>(bytes));
  });
}

namespace {

std::int64_t pack_once([[maybe_unused]] bool exceeds_int, const void* data, const PackedMessages::View& v) {
#ifdef OPENIMB_LARGE_COUNT
  if (exceeds_int) return call::pack<call::LargeCount>(data, v.count, v.type, v.out, v.room, v.comm);
#endif
  return call::pack<int>(data, v.count, v.type, v.out, static_cast<int>(v.room), v.comm);
}

}  // namespace

void PackedMemory::Delete::operator()(std::byte* memory) const {
  ::operator delete(memory, std::align_val_t(page_bytes));
}

std::byte* PackedMemory::of(std::size_t bytes) {
  if (memory_ && bytes <= bytes_) return memory_.get();
  memory_.reset();
  memory_.reset(static_cast<std::byte*>(::operator new(bytes, std::align_val_t(page_bytes), std::nothrow)));
  bytes_ = bytes;
  if (memory_) std::memset(memory_.get(), 0, bytes);  // allocates its pages before they are timed
  return memory_.get();
}

PackedMessages::PackedMessages(PackedMemory& memory, Packing packing, const Geometry& geometry,
                               const Element& element, const ElementType& type, MPI_Comm comm,
                               const void* data)
    : gaps_{.period = element.layout.period(), .elements = geometry.elements, .size = element.size()} {
  const std::int64_t bytes = geometry.elements * element.size();
  const int count = geometry.elements > 0 ? 1 : 0;
  const bool by_mpi = packing == Packing::mpi;
  // Without large counts the argument is an int, and MPI_Pack_size may return more than MPI_Pack needs.
  const std::int64_t most = geometry.exceeds_int ? largest_size : std::numeric_limits<int>::max();
  const std::int64_t room = by_mpi ? std::min(most, packed_size(count, type.handle(), bytes, comm)) : bytes;
  view_ = {.out = nullptr,
           .in = nullptr,
           .packed = bytes,
           .room = room,
           .span = geometry.message_extent,
           .sends = static_cast<int>(geometry.messages_in(geometry.send)),
           .receives = static_cast<int>(geometry.messages_in(geometry.receive)),
           .count = count,
           .type = type.handle(),
           .comm = comm,
           .gaps = &gaps_};
  const std::int64_t send_bytes = (view_.sends * room + page_bytes - 1) / page_bytes * page_bytes;
  const auto all_bytes = static_cast<std::size_t>(std::max(page_bytes, send_bytes + view_.receives * room));
  std::byte* const begin = memory.of(all_bytes);
  if (begin == nullptr) return;
  view_.out = reinterpret_cast<char*>(begin);
  view_.in = view_.out + send_bytes;
  if (by_mpi && count > 0) view_.packed = pack_once(geometry.exceeds_int, data, view_);
}

}  // namespace openimb
