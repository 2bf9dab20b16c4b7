#include "engine/file_batch.h"

#include <algorithm>
#include <utility>

#include "engine/file_content.h"

namespace openimb {

namespace {

unsigned char mark_of(int rank) { return static_cast<unsigned char>(1 + rank % 255); }

// Armed with what a file does not hold from `position` on, so that a short read shows; in parts that an int
// counts.
void read_from(const File& file, std::int64_t at, std::span<std::byte> memory, std::int64_t position) {
  constexpr std::size_t part = 1U << 30U;
  fill_as_file(memory, position);
  for (std::byte& value : memory) value = ~value;
  for (std::size_t done = 0; done < memory.size(); done += part) {
    const std::span<std::byte> rest = memory.subspan(done, std::min(part, memory.size() - done));
    MPI_File_read_at(file.handle(), at + static_cast<std::int64_t>(done), rest.data(),
                     static_cast<int>(rest.size()), MPI_BYTE, MPI_STATUS_IGNORE);
  }
}

}  // namespace

FileBatch::FileBatch(const Spec& spec, const Stage& stage) : spec_(spec), stage_(stage) {
  view_.comm = alone() ? MPI_COMM_SELF : stage.comm;
  view_.name = stage_.file_name.c_str();
  view_.info = stage.info;
  MPI_Comm_rank(view_.comm, &view_.rank);
  view_.mark = mark_of(view_.rank);
}

FileBatch::~FileBatch() {
  close_file();
  MPI_Barrier(view_.comm);
  delete_file();
}

void FileBatch::prepare() {
  close_file();
  if (!reads()) {
    MPI_Barrier(view_.comm);
    delete_file();
    MPI_Barrier(view_.comm);
  }
  if (spec_.file != FileUse::open) open();
  if (reads()) require_size(file_, stage_.repetitions);
}

void FileBatch::conclude(std::int64_t repetitions) {
  close_file();
  if (!writes()) return;
  MPI_Barrier(view_.comm);
  if (view_.rank != 0) return;
  const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
  require_size(file, repetitions);
}

std::int64_t FileBatch::check(std::int64_t repetitions) {
  prepare();
  if (writes()) return check_writes(repetitions);
  return reads() ? check_reads(repetitions) : check_opening();
}

std::string FileBatch::take_trouble() {
  std::string words = take_file_trouble();
  return words.empty() ? std::exchange(trouble_, {}) : words;
}

LapPlan FileBatch::lap_plan() const {
  const Geometry& geometry = stage_.geometry;
  return {.first = {.send = reinterpret_cast<char*>(stage_.send),
                    .receive = reinterpret_cast<char*>(stage_.receive),
                    .offset = stage_.tile.first},
          .send_stride = geometry.send.stride,
          .receive_stride = geometry.receive.stride,
          .slots = geometry.slots,
          .offset_stride = stage_.tile.portion};
}

void FileBatch::open() {
  file_ = File(view_.comm, stage_.file_name, FileView::mode, stage_.info);
  view_.file = file_.handle();
  if (!file_) return;
  if (spec_.file_pointer == FilePointer::individual) file_.set_view(stage_.tile, stage_.info);
  hints_ = file_.hints();
}

void FileBatch::close_file() {
  file_ = File();
  view_.file = MPI_FILE_NULL;
}

// It need not be there. MPI's own files beside it go when it is closed.
void FileBatch::delete_file() const {
  if (view_.rank == 0) MPI_File_delete(stage_.file_name.c_str(), MPI_INFO_NULL);
}

// Where a disk is full or a limit reached, some libraries write less and call it success. Of a file just
// opened: before that a size may be an old one elsewhere.
void FileBatch::require_size(const File& file, std::int64_t repetitions) {
#ifdef OPENIMB_SMPI  // the simulator has one file of a name on each host
  return;
#endif
  if (!file || view_.rank != 0) return;
  MPI_Offset size = 0;
  MPI_File_get_size(file.handle(), &size);
  const std::int64_t wanted = repetitions * stage_.tile.portion;
  if (size >= wanted) return;
  trouble_ = "MPI reports no error, but its file holds " + std::to_string(size) + " bytes of " +
             std::to_string(wanted);
}

void FileBatch::complete() const {
  if (stage_.file_sync == FileSync::standard) {
    Completion<FileSync::standard>::close(view_);
  } else {
    Completion<FileSync::never>::close(view_);
  }
}

std::span<std::byte> FileBatch::share_at(std::byte* memory) const {
  return {memory, static_cast<std::size_t>(stage_.tile.share)};
}

// What is written is read back from the file after it was closed; by another process, where one shares it.
std::int64_t FileBatch::check_writes(std::int64_t repetitions) {
  Moving laps(lap_plan());
  const std::int64_t mine = first_place_in_all_files(spec_, stage_.place.rank);
  for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
    fill_as_file(share_at(reinterpret_cast<std::byte*>(laps.lap().send)), mine + stage_.tile.offset(i));
    move(laps.lap());
    if (!stage_.aggregate) complete();
  }
  if (stage_.aggregate) complete();
  close_file();
  MPI_Barrier(view_.comm);
  const std::int64_t defects = any_order() ? misplaced_writes(repetitions) : misread(repetitions);
  MPI_Barrier(view_.comm);
  fill_for_timing({stage_.send, static_cast<std::size_t>(stage_.geometry.send.total)}, stage_.element, spec_,
                  stage_.place.rank);
  return defects;
}

std::int64_t FileBatch::misread(std::int64_t repetitions) {
  const bool own = alone();
  const int whose = own ? stage_.place.rank : (stage_.place.rank + 1) % stage_.place.ranks;
  const Tile tile = own ? stage_.tile : tile_of(spec_, stage_.bytes, stage_.place.ranks, whose);
  const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
  if (!file) return tile.share * repetitions;
  std::vector<std::byte> seen(static_cast<std::size_t>(tile.share));
  std::int64_t defects = 0;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    const std::int64_t position = first_place_in_all_files(spec_, whose) + tile.offset(i);
    read_from(file, tile.offset(i), seen, position);
    defects += count_file_defects(seen, position);
  }
  return view_.rank == 0 ? defects + wrong_size(file, repetitions) : defects;
}

// What is there and should not be; what is missing was not read.
std::int64_t FileBatch::wrong_size(const File& file, std::int64_t repetitions) const {
  MPI_Offset size = 0;
  MPI_File_get_size(file.handle(), &size);
  return std::max<std::int64_t>(0, size - stage_.tile.portion * repetitions);
}

std::int64_t FileBatch::misplaced_writes(std::int64_t repetitions) {
  if (view_.rank != 0) return 0;
  const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
  if (!file) return stage_.bytes * repetitions;
  Blocks blocks;
  std::vector<std::byte> block(longest_share());
  for (int rank = 0; rank < stage_.place.ranks; ++rank) {
    const Tile tile = tile_of(spec_, stage_.bytes, stage_.place.ranks, rank);
    const std::span share(block.data(), static_cast<std::size_t>(tile.share));
    for (std::int64_t i = 0; i < repetitions && tile.share > 0; ++i) {
      fill_as_file(share, tile.offset(i));
      blocks.add(fingerprint(share), tile.share);
    }
  }
  MPI_Offset size = 0;
  MPI_File_get_size(file.handle(), &size);
  return count_misplaced(
      blocks, size, block, shortest_share(),
      [&](std::int64_t at, std::span<std::byte> memory) { read_from(file, at, memory, at); });
}

std::int64_t FileBatch::check_reads(std::int64_t repetitions) {
  Moving laps(lap_plan());
  const std::int64_t mine = first_place_in_all_files(spec_, stage_.place.rank);
  std::int64_t defects = 0;
  std::vector<std::uint64_t> seen;
  for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
    std::byte* const memory = reinterpret_cast<std::byte*>(laps.lap().receive);
    const std::span share = share_at(memory);
    const std::span guard(memory + stage_.tile.share, static_cast<std::size_t>(Content::guard));
    const std::int64_t position = mine + stage_.tile.offset(i);
    fill_as_file(share, position);
    for (std::byte& value : share) value = ~value;
    std::ranges::fill(guard, Content::armed);
    move(laps.lap());
    if (any_order()) {
      seen.push_back(fingerprint(share));
    } else {
      defects += count_file_defects(share, position);
    }
    defects += std::ranges::count_if(guard, [](std::byte value) { return value != Content::armed; });
  }
  if (any_order()) defects += misplaced_reads(repetitions, seen);
  fill_for_timing({stage_.receive, static_cast<std::size_t>(stage_.geometry.receive.total)}, stage_.element,
                  spec_, stage_.place.rank);
  return defects;
}

// Everybody's blocks together must make up the file.
std::int64_t FileBatch::misplaced_reads(std::int64_t repetitions, const std::vector<std::uint64_t>& mine) {
  const int ranks = stage_.place.ranks;
  std::vector<std::uint64_t> all(view_.rank == 0 ? mine.size() * static_cast<std::size_t>(ranks) : 0);
  const int count = static_cast<int>(mine.size());
  MPI_Gather(mine.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0, view_.comm);
  if (view_.rank != 0) return 0;
  Blocks blocks;
  for (int rank = 0; rank < ranks; ++rank) {
    const Tile tile = tile_of(spec_, stage_.bytes, ranks, rank);
    for (std::int64_t i = 0; i < repetitions && tile.share > 0; ++i) {
      blocks.add(all[static_cast<std::size_t>(rank * repetitions + i)], tile.share);
    }
  }
  std::vector<std::byte> block(longest_share());
  return count_misplaced(blocks, stage_.bytes * repetitions, block, shortest_share(),
                         [](std::int64_t at, std::span<std::byte> memory) { fill_as_file(memory, at); });
}

std::int64_t FileBatch::check_opening() {
  move({});
  MPI_Barrier(view_.comm);
  std::int64_t defects = 0;
  if (view_.rank == 0) {
    const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
    std::vector<unsigned char> marks(static_cast<std::size_t>(stage_.place.ranks), 0);
    MPI_Offset size = 0;
    if (file) {
      MPI_File_get_size(file.handle(), &size);
      MPI_File_read_at(file.handle(), 0, marks.data(), stage_.place.ranks, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    for (int rank = 0; rank < stage_.place.ranks; ++rank) {
      defects += marks[static_cast<std::size_t>(rank)] != mark_of(rank) ? 1 : 0;
    }
    defects += std::max<std::int64_t>(0, size - stage_.place.ranks);
  }
  MPI_Barrier(view_.comm);
  return defects;
}

std::size_t FileBatch::longest_share() const {
  return static_cast<std::size_t>(tile_of(spec_, stage_.bytes, stage_.place.ranks, 0).share);
}
std::int64_t FileBatch::shortest_share() const {
  return tile_of(spec_, stage_.bytes, stage_.place.ranks, stage_.place.ranks - 1).share;
}

}  // namespace openimb
