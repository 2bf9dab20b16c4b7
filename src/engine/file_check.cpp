#include "engine/file_check.h"

#include <algorithm>
#include <array>

#include "engine/buffers.h"
#include "engine/content.h"
#include "plan/schedule.h"

namespace openimb {

namespace {

void invert(std::span<std::byte> memory) {
  for (std::byte& value : memory) value = ~value;
}

// Reads from offset `at` of the file. It first fills `memory` with the inverse of the contents expected at
// `position`, so that bytes that are not read differ from the expected ones.
void read_from(const File& file, std::int64_t at, std::span<std::byte> memory, std::int64_t position) {
  fill_as_file(memory, position);
  invert(memory);
  MPI_File_read_at(file.handle(), at, memory.data(), static_cast<int>(memory.size()), MPI_BYTE,
                   MPI_STATUS_IGNORE);
}

}  // namespace

FileCheck::FileCheck(const Spec& spec, const Setup& setup, const GroupContext& group)
    : spec_(spec), setup_(setup), group_(group) {
  const std::int64_t longest = std::max<std::int64_t>({1, setup.file.tile.share, tile(0).share});
  chunk_.resize(static_cast<std::size_t>(std::min(image_chunk, longest)));
}

bool FileCheck::allows_any_order() const {
  return spec_.file.pointer == FilePointer::shared && spec_.kind != Kind::collective;
}

Tile FileCheck::tile(int rank) const {
  return tile_of(spec_, setup_.file.bytes, setup_.group.me.ranks, rank);
}

std::int64_t FileCheck::first_place() const { return first_content_position(spec_, setup_.group.me.rank); }

void FileCheck::write_send(std::int64_t i, std::int64_t slot) {
  const Tile& mine = setup_.file.tile;
  for_each_chunk(chunk_, mine.share, [&](std::int64_t begin, std::span<std::byte> chunk) {
    fill_as_file(chunk, first_place() + mine.offset(i) + begin);
    setup_.buffers.send->write(slot * setup_.buffers.geometry.send.stride + begin, chunk);
  });
}

std::int64_t FileCheck::count_written(std::int64_t repetitions, const std::function<File()>& open) {
  if (allows_any_order() && group_.rank != 0) return 0;
  const File file = open();
  if (!file) return (allows_any_order() ? setup_.file.bytes : setup_.file.tile.share) * repetitions;
  return allows_any_order() ? count_misplaced_writes(repetitions, file) : count_misread(repetitions, file);
}

// Number of wrong bytes at the positions that one rank wrote: this rank or, if ranks share the file, its
// right neighbor. Bytes that cannot be read and bytes beyond the end of what was written also count.
std::int64_t FileCheck::count_misread(std::int64_t repetitions, const File& file) {
  const int writer = has_one_rank() ? setup_.group.me.rank : setup_.group.me.right();
  const Tile written = has_one_rank() ? setup_.file.tile : tile(writer);
  std::int64_t defects = 0;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    for_each_chunk(chunk_, written.share, [&](std::int64_t begin, std::span<std::byte> chunk) {
      const std::int64_t position = first_content_position(spec_, writer) + written.offset(i) + begin;
      read_from(file, written.offset(i) + begin, chunk, position);
      defects += count_file_defects(chunk, position);
    });
  }
  if (group_.rank != 0) return defects;
  return defects + std::max<std::int64_t>(0, file.size() - setup_.file.tile.portion * repetitions);
}

std::uint64_t FileCheck::fingerprint_of_content(std::int64_t position, std::int64_t bytes) {
  Fingerprint fingerprint;
  for_each_chunk(chunk_, bytes, [&](std::int64_t begin, std::span<std::byte> chunk) {
    fill_as_file(chunk, position + begin);
    fingerprint.add(chunk);
  });
  return fingerprint.value();
}

std::int64_t FileCheck::count_misplaced_writes(std::int64_t repetitions, const File& file) {
  const int ranks = setup_.group.me.ranks;
  Blocks blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    const Tile written = tile(rank);
    for (std::int64_t i = 0; i < repetitions && written.share > 0; ++i) {
      blocks.add(fingerprint_of_content(written.offset(i), written.share), written.share);
    }
  }
  const auto fingerprint_at = [&](std::int64_t position, std::int64_t bytes) {
    Fingerprint fingerprint;
    for_each_chunk(chunk_, bytes, [&](std::int64_t begin, std::span<std::byte> chunk) {
      read_from(file, position + begin, chunk, position + begin);
      fingerprint.add(chunk);
    });
    return fingerprint.value();
  };
  return count_misplaced(blocks, file.size(), tile(0).share, tile(ranks - 1).share, fingerprint_at);
}

void FileCheck::arm_receive(std::int64_t i, std::int64_t slot) {
  const Tile& mine = setup_.file.tile;
  const std::int64_t at = slot * setup_.buffers.geometry.receive.stride;
  for_each_chunk(chunk_, mine.share, [&](std::int64_t begin, std::span<std::byte> chunk) {
    fill_as_file(chunk, first_place() + mine.offset(i) + begin);
    invert(chunk);
    setup_.buffers.receive->write(at + begin, chunk);
  });
  std::array<std::byte, Content::guard> guard{};
  guard.fill(Content::armed);
  setup_.buffers.receive->write(at + mine.share, guard);
}

void FileCheck::check_receive(std::int64_t i, std::int64_t slot) {
  const Tile& mine = setup_.file.tile;
  const std::int64_t at = slot * setup_.buffers.geometry.receive.stride;
  Fingerprint fingerprint;
  for_each_chunk(chunk_, mine.share, [&](std::int64_t begin, std::span<std::byte> chunk) {
    setup_.buffers.receive->read(at + begin, chunk);
    fingerprint.add(chunk);
    if (!allows_any_order()) defects_ += count_file_defects(chunk, first_place() + mine.offset(i) + begin);
  });
  if (allows_any_order()) seen_.push_back(fingerprint.value());
  std::array<std::byte, Content::guard> guard{};
  setup_.buffers.receive->read(at + mine.share, guard);
  defects_ += std::ranges::count_if(guard, [](std::byte value) { return value != Content::armed; });
}

std::int64_t FileCheck::count_read(std::int64_t repetitions) {
  return defects_ + (allows_any_order() ? count_misplaced_reads(repetitions) : 0);
}

// Number of bytes by which the blocks that all ranks read, in any order, differ from the contents of the
// file.
std::int64_t FileCheck::count_misplaced_reads(std::int64_t repetitions) {
  const int ranks = setup_.group.me.ranks;
  std::vector<std::uint64_t> all(group_.rank == 0 ? seen_.size() * static_cast<std::size_t>(ranks) : 0);
  const int count = static_cast<int>(seen_.size());
  MPI_Gather(seen_.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0, group_.comm);
  if (group_.rank != 0) return 0;
  Blocks blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    const Tile rank_tile = tile(rank);
    for (std::int64_t i = 0; i < repetitions && rank_tile.share > 0; ++i) {
      blocks.add(all[static_cast<std::size_t>(rank * repetitions + i)], rank_tile.share);
    }
  }
  return count_misplaced(
      blocks, setup_.file.bytes * repetitions, tile(0).share, tile(ranks - 1).share,
      [&](std::int64_t at, std::int64_t bytes) { return fingerprint_of_content(at, bytes); });
}

void FileCheck::restore() {
  const Geometry& geometry = setup_.buffers.geometry;
  const int rank = setup_.group.me.rank;
  if (setup_.buffers.send != nullptr)
    fill_for_timing(*setup_.buffers.send, geometry.send.total, setup_.buffers.element, spec_, rank);
  if (setup_.buffers.receive != nullptr) {
    fill_for_timing(*setup_.buffers.receive, geometry.receive.total, setup_.buffers.element, spec_, rank);
  }
}

}  // namespace openimb
