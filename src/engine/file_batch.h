// A benchmark of IMB-IO on one rank for one point: its file is made anew, or opened anew, before every batch.
// Source: guide, "File (IMB-IO)", "Non-blocking I/O Benchmarks".
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/batch.h"
#include "engine/file_content.h"
#include "mpi/file.h"

namespace openimb {

/// One rank's view of its file, constant over a batch. `Count` is int or MPI_Count.
template <class Count>
struct FileContext {
  static constexpr int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_Comm comm = MPI_COMM_NULL;  ///< that opened the file
  MPI_File file = MPI_FILE_NULL;
  Count count = 0;  ///< of bytes: this process's share
  MPI_Datatype type = MPI_BYTE;
  const char* name = nullptr;
  MPI_Info info = MPI_INFO_NULL;
  int rank = 0;
  unsigned char mark = 0;  ///< what Open_Close writes: 1 to 255, by rank, as a hole reads as 0
};

/// Guide, "Assured Completion of Transfers"; with -fsync never the processes only meet.
template <class Pattern, FileSync sync>
struct Completed : Pattern {
  template <class C>
  static void close(const C& c) {
    if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
    MPI_Barrier(c.comm);
    if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
  }
};

template <class Pattern, class Count>
class FileBatchOf final : public Batch {
  static constexpr Spec spec = Pattern::spec;
  static constexpr bool writes = spec.file == FileUse::write;
  static constexpr bool reads = spec.file == FileUse::read;
  static constexpr bool any_order = spec.file_pointer == FilePointer::shared && spec.kind != Kind::collective;

 public:
  explicit FileBatchOf(const Stage& stage) : stage_(stage) {
    context_.comm = alone() ? MPI_COMM_SELF : stage.comm;
    context_.count = static_cast<Count>(stage.tile.share);
    context_.name = stage_.file_name.c_str();
    context_.info = stage.info;
    MPI_Comm_rank(context_.comm, &context_.rank);
    context_.mark = mark_of(context_.rank);
  }
  FileBatchOf(const FileBatchOf&) = delete;
  FileBatchOf& operator=(const FileBatchOf&) = delete;
  ~FileBatchOf() override {
    close_file();
    MPI_Barrier(context_.comm);
    delete_file();
  }

  void prepare() override {
    close_file();
    if constexpr (!reads) {
      MPI_Barrier(context_.comm);
      delete_file();
      MPI_Barrier(context_.comm);
    }
    if constexpr (spec.file != FileUse::open) open(FileContext<Count>::mode);
    if constexpr (reads) require_size(file_, stage_.repetitions);
  }

  void conclude(std::int64_t repetitions) override {
    close_file();
    if constexpr (writes) {
      MPI_Barrier(context_.comm);
      if (context_.rank != 0) return;
      const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
      require_size(file, repetitions);
    }
  }

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if constexpr (!writes) {
      return time<Pattern, false>(context_, repetitions, timing, samples);
    } else if (stage_.file_sync == FileSync::standard) {
      return time_writes<Completed<Pattern, FileSync::standard>>(repetitions, timing, samples);
    } else {
      return time_writes<Completed<Pattern, FileSync::never>>(repetitions, timing, samples);
    }
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                       const Load& load) override {
    if constexpr (spec.overlap) {
      const Loaded<FileContext<Count>> loaded{context_, load};
      if constexpr (!writes) {
        return time<WithLoad<Pattern, WallClock>, false>(loaded, repetitions, timing, samples);
      } else if (stage_.file_sync == FileSync::standard) {
        using Step = Completed<Pattern, FileSync::standard>;
        return time<WithLoad<Step, WallClock>, false>(loaded, repetitions, timing, samples);
      } else {
        using Step = Completed<Pattern, FileSync::never>;
        return time<WithLoad<Step, WallClock>, false>(loaded, repetitions, timing, samples);
      }
    }
    return 0;
  }

  std::int64_t check(std::int64_t repetitions) override {
    prepare();
    if constexpr (writes) return check_writes(repetitions);
    if constexpr (reads) return check_reads(repetitions);
    return check_opening();
  }

  bool takes_part() const override { return true; }
  std::string take_trouble() override {
    std::string words = take_file_trouble();
    return words.empty() ? std::exchange(trouble_, {}) : words;
  }
  Hints hints() const override { return hints_; }

 private:
  using Moving = Laps<true, false, true>;

  bool alone() const { return spec.own_file || spec.kind == Kind::single_transfer; }
  void open(int mode) {
    file_ = File(context_.comm, stage_.file_name, mode, stage_.info);
    context_.file = file_.handle();
    if (!file_) return;
    if (spec.file_pointer == FilePointer::individual) file_.set_view(stage_.tile, stage_.info);
    hints_ = file_.hints();
  }
  void close_file() {
    file_ = File();
    context_.file = MPI_FILE_NULL;
  }
  // It need not be there. MPI's own files beside it go when it is closed.
  void delete_file() const {
    if (context_.rank == 0) MPI_File_delete(stage_.file_name.c_str(), MPI_INFO_NULL);
  }

  LapPlan lap_plan() const {
    const Geometry& geometry = stage_.geometry;
    return {.first = {.send = reinterpret_cast<char*>(stage_.send),
                      .receive = reinterpret_cast<char*>(stage_.receive),
                      .offset = stage_.tile.first},
            .send_stride = geometry.send.stride,
            .receive_stride = geometry.receive.stride,
            .slots = geometry.slots,
            .offset_stride = stage_.tile.portion};
  }

  template <class Step>
  double time_writes(std::int64_t repetitions, Timing timing, std::span<double> samples) {
    if constexpr (spec.aggregation != Aggregation::non_aggregate_only) {
      if (stage_.aggregate) return time<Step, true>(context_, repetitions, timing, samples);
    }
    return time<Step, false>(context_, repetitions, timing, samples);
  }

  // Where a disk is full or a limit reached, some libraries write less and call it success. Of a file just
  // opened: before that a size may be an old one elsewhere.
  void require_size(const File& file, std::int64_t repetitions) {
#ifdef OPENIMB_SMPI  // the simulator has one file of a name on each host
    return;
#endif
    if (!file || context_.rank != 0) return;
    MPI_Offset size = 0;
    MPI_File_get_size(file.handle(), &size);
    const std::int64_t wanted = repetitions * stage_.tile.portion;
    if (size >= wanted) return;
    trouble_ = "MPI reports no error, but its file holds " + std::to_string(size) + " bytes of " +
               std::to_string(wanted);
  }

  template <class Step, bool aggregate, class Seen>
  double time(const Seen& context, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return stage_.geometry.slots > 1
               ? time_moving<Step, aggregate, true>(context, repetitions, timing, samples)
               : time_moving<Step, aggregate, false>(context, repetitions, timing, samples);
  }

  template <class Step, bool aggregate, bool moving, class Seen>
  double time_moving(const Seen& context, std::int64_t repetitions, Timing timing,
                     std::span<double> samples) {
    const Laps<moving, false, spec.file_pointer == FilePointer::offset> laps(lap_plan());
    return timed_as<Step, spec.kind, aggregate>(context, laps, repetitions, timing, samples, stage_.barrier,
                                                stage_.comm);
  }

  /// The calls under test, once: of a nonblocking flavour those in two halves.
  void move(const Lap& lap) const {
    if constexpr (spec.overlap) {
      MPI_Request request = MPI_REQUEST_NULL;
      Pattern::post(context_, lap, &request);
      Pattern::finish(context_, lap, &request);
    } else {
      Pattern::step(context_, lap);
    }
  }
  void complete() const {
    if (stage_.file_sync == FileSync::standard) {
      Completed<Pattern, FileSync::standard>::close(context_);
    } else {
      Completed<Pattern, FileSync::never>::close(context_);
    }
  }
  std::span<std::byte> share_at(std::byte* memory) const {
    return {memory, static_cast<std::size_t>(stage_.tile.share)};
  }

  // What is written is read back from the file after it was closed; by another process, where one shares it.
  std::int64_t check_writes(std::int64_t repetitions) {
    Moving laps(lap_plan());
    const std::int64_t mine = first_place_in_all_files(spec, stage_.place.rank);
    for (std::int64_t i = 0; i < repetitions; ++i, laps.advance()) {
      fill_as_file(share_at(reinterpret_cast<std::byte*>(laps.lap().send)), mine + stage_.tile.offset(i));
      move(laps.lap());
      if (!stage_.aggregate) complete();
    }
    if (stage_.aggregate) complete();
    close_file();
    MPI_Barrier(context_.comm);
    const std::int64_t defects = any_order ? misplaced_writes(repetitions) : misread(repetitions);
    MPI_Barrier(context_.comm);
    fill_for_timing({stage_.send, static_cast<std::size_t>(stage_.geometry.send.total)}, stage_.element, spec,
                    stage_.place.rank);
    return defects;
  }

  std::int64_t misread(std::int64_t repetitions) {
    const bool own = alone();
    const int whose = own ? stage_.place.rank : (stage_.place.rank + 1) % stage_.place.ranks;
    const Tile tile = own ? stage_.tile : tile_of(spec, stage_.bytes, stage_.place.ranks, whose);
    const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
    if (!file) return tile.share * repetitions;
    std::vector<std::byte> seen(static_cast<std::size_t>(tile.share));
    std::int64_t defects = 0;
    for (std::int64_t i = 0; i < repetitions; ++i) {
      const std::int64_t position = first_place_in_all_files(spec, whose) + tile.offset(i);
      read_from(file, tile.offset(i), seen, position);
      defects += count_file_defects(seen, position);
    }
    return context_.rank == 0 ? defects + wrong_size(file, repetitions) : defects;
  }

  // What is there and should not be; what is missing was not read.
  std::int64_t wrong_size(const File& file, std::int64_t repetitions) const {
    MPI_Offset size = 0;
    MPI_File_get_size(file.handle(), &size);
    return std::max<std::int64_t>(0, size - stage_.tile.portion * repetitions);
  }

  std::int64_t misplaced_writes(std::int64_t repetitions) {
    if (context_.rank != 0) return 0;
    const File file(MPI_COMM_SELF, stage_.file_name, MPI_MODE_RDONLY, stage_.info);
    if (!file) return stage_.bytes * repetitions;
    Blocks blocks;
    std::vector<std::byte> block(longest_share());
    for (int rank = 0; rank < stage_.place.ranks; ++rank) {
      const Tile tile = tile_of(spec, stage_.bytes, stage_.place.ranks, rank);
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

  // Armed with what a file does not hold from `position` on, so that a short read shows; in parts that an int
  // counts.
  static void read_from(const File& file, std::int64_t at, std::span<std::byte> memory,
                        std::int64_t position) {
    constexpr std::size_t part = 1U << 30U;
    fill_as_file(memory, position);
    for (std::byte& value : memory) value = ~value;
    for (std::size_t done = 0; done < memory.size(); done += part) {
      const std::span<std::byte> rest = memory.subspan(done, std::min(part, memory.size() - done));
      MPI_File_read_at(file.handle(), at + static_cast<std::int64_t>(done), rest.data(),
                       static_cast<int>(rest.size()), MPI_BYTE, MPI_STATUS_IGNORE);
    }
  }

  std::int64_t check_reads(std::int64_t repetitions) {
    Moving laps(lap_plan());
    const std::int64_t mine = first_place_in_all_files(spec, stage_.place.rank);
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
      if (any_order) {
        seen.push_back(fingerprint(share));
      } else {
        defects += count_file_defects(share, position);
      }
      defects += std::ranges::count_if(guard, [](std::byte value) { return value != Content::armed; });
    }
    if (any_order) defects += misplaced_reads(repetitions, seen);
    fill_for_timing({stage_.receive, static_cast<std::size_t>(stage_.geometry.receive.total)}, stage_.element,
                    spec, stage_.place.rank);
    return defects;
  }

  // Everybody's blocks together must make up the file.
  std::int64_t misplaced_reads(std::int64_t repetitions, const std::vector<std::uint64_t>& mine) {
    const int ranks = stage_.place.ranks;
    std::vector<std::uint64_t> all(context_.rank == 0 ? mine.size() * static_cast<std::size_t>(ranks) : 0);
    const int count = static_cast<int>(mine.size());
    MPI_Gather(mine.data(), count, MPI_UINT64_T, all.data(), count, MPI_UINT64_T, 0, context_.comm);
    if (context_.rank != 0) return 0;
    Blocks blocks;
    for (int rank = 0; rank < ranks; ++rank) {
      const Tile tile = tile_of(spec, stage_.bytes, ranks, rank);
      for (std::int64_t i = 0; i < repetitions && tile.share > 0; ++i) {
        blocks.add(all[static_cast<std::size_t>(rank * repetitions + i)], tile.share);
      }
    }
    std::vector<std::byte> block(longest_share());
    return count_misplaced(blocks, stage_.bytes * repetitions, block, shortest_share(),
                           [](std::int64_t at, std::span<std::byte> memory) { fill_as_file(memory, at); });
  }

  static unsigned char mark_of(int rank) { return static_cast<unsigned char>(1 + rank % 255); }

  std::int64_t check_opening() {
    move({});
    MPI_Barrier(context_.comm);
    std::int64_t defects = 0;
    if (context_.rank == 0) {
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
    MPI_Barrier(context_.comm);
    return defects;
  }

  std::size_t longest_share() const {
    return static_cast<std::size_t>(tile_of(spec, stage_.bytes, stage_.place.ranks, 0).share);
  }
  std::int64_t shortest_share() const {
    return tile_of(spec, stage_.bytes, stage_.place.ranks, stage_.place.ranks - 1).share;
  }

  Stage stage_;
  FileContext<Count> context_;
  File file_;
  Hints hints_;
  std::string trouble_;
};

/// A row of a catalogue of benchmarks on files.
template <class Pattern>
constexpr Entry file_entry() {
  return entry<Pattern, FileBatchOf>();
}

}  // namespace openimb
