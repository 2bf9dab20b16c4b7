// A benchmark of IMB-IO on one rank for one point: its file is made anew, or opened anew, before every batch.
// Source: guide, "File (IMB-IO)", "Non-blocking I/O Benchmarks".
#pragma once

#include <string>
#include <vector>

#include "engine/batch.h"
#include "mpi/file.h"

namespace openimb {

/// One rank's view of its file, constant over a batch.
struct FileView {
  static constexpr int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_Comm comm = MPI_COMM_NULL;  ///< that opened the file
  MPI_File file = MPI_FILE_NULL;
  MPI_Datatype type = MPI_BYTE;
  const char* name = nullptr;
  MPI_Info info = MPI_INFO_NULL;
  int rank = 0;
  unsigned char mark = 0;  ///< what Open_Close writes: 1 to 255, by rank, as a hole reads as 0
};

/// `Count` is int or MPI_Count.
template <class Count>
struct FileContext : FileView {
  Count count = 0;  ///< of bytes: this process's share
};

/// Guide, "Assured Completion of Transfers"; with -fsync never the processes only meet.
template <FileSync sync>
struct Completion {
  static void close(const FileView& c) {
    if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
    MPI_Barrier(c.comm);
    if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
  }
};
template <class Pattern, FileSync sync>
struct Completed : Pattern, Completion<sync> {};

/// A batch on a file. Nothing here is timed.
class FileBatch : public Batch {
 public:
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;
  ~FileBatch() override;

  void prepare() override;
  void conclude(std::int64_t repetitions) override;
  std::int64_t check(std::int64_t repetitions) override;
  bool takes_part() const override { return true; }
  std::string take_trouble() override;
  Hints hints() const override { return hints_; }

 protected:
  FileBatch(const Spec& spec, const Stage& stage);
  const Stage& stage() const { return stage_; }
  const FileView& view() const { return view_; }
  LapPlan lap_plan() const;

 private:
  using Moving = Laps<true, false, true>;

  /// The calls under test, once: of a nonblocking flavour those in two halves.
  virtual void move(const Lap& lap) const = 0;

  bool alone() const { return spec_.own_file || spec_.kind == Kind::single_transfer; }
  bool writes() const { return spec_.file == FileUse::write; }
  bool reads() const { return spec_.file == FileUse::read; }
  bool any_order() const {
    return spec_.file_pointer == FilePointer::shared && spec_.kind != Kind::collective;
  }
  void open();
  void close_file();
  void delete_file() const;
  void require_size(const File& file, std::int64_t repetitions);
  void complete() const;
  std::span<std::byte> share_at(std::byte* memory) const;
  std::int64_t check_writes(std::int64_t repetitions);
  std::int64_t misread(std::int64_t repetitions);
  std::int64_t wrong_size(const File& file, std::int64_t repetitions) const;
  std::int64_t misplaced_writes(std::int64_t repetitions);
  std::int64_t check_reads(std::int64_t repetitions);
  std::int64_t misplaced_reads(std::int64_t repetitions, const std::vector<std::uint64_t>& mine);
  std::int64_t check_opening();
  std::size_t longest_share() const;
  std::int64_t shortest_share() const;

  const Spec& spec_;
  Stage stage_;
  FileView view_;
  File file_;
  Hints hints_;
  std::string trouble_;
};

/// What differs from pattern to pattern: the timed loops.
template <class Pattern, class Count>
class FileBatchOf final : public FileBatch {
  static constexpr Spec spec = Pattern::spec;
  static constexpr bool writes = spec.file == FileUse::write;

 public:
  explicit FileBatchOf(const Stage& stage) : FileBatch(Pattern::spec, stage) {}

  double run(std::int64_t repetitions, Timing timing, std::span<double> samples) override {
    if constexpr (!writes) {
      return time<Pattern, false>(context(), repetitions, timing, samples);
    } else if (stage().file_sync == FileSync::standard) {
      return time_writes<Completed<Pattern, FileSync::standard>>(repetitions, timing, samples);
    } else {
      return time_writes<Completed<Pattern, FileSync::never>>(repetitions, timing, samples);
    }
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> samples,
                       const Load& load) override {
    if constexpr (spec.overlap) {
      const Loaded<FileContext<Count>> loaded{context(), load};
      if constexpr (!writes) {
        return time<WithLoad<Pattern, WallClock>, false>(loaded, repetitions, timing, samples);
      } else if (stage().file_sync == FileSync::standard) {
        using Step = Completed<Pattern, FileSync::standard>;
        return time<WithLoad<Step, WallClock>, false>(loaded, repetitions, timing, samples);
      } else {
        using Step = Completed<Pattern, FileSync::never>;
        return time<WithLoad<Step, WallClock>, false>(loaded, repetitions, timing, samples);
      }
    }
    return 0;
  }

 private:
  FileContext<Count> context() const { return {view(), static_cast<Count>(stage().tile.share)}; }

  template <class Step>
  double time_writes(std::int64_t repetitions, Timing timing, std::span<double> samples) {
    if constexpr (spec.aggregation != Aggregation::non_aggregate_only) {
      if (stage().aggregate) return time<Step, true>(context(), repetitions, timing, samples);
    }
    return time<Step, false>(context(), repetitions, timing, samples);
  }

  template <class Step, bool aggregate, class Seen>
  double time(const Seen& context, std::int64_t repetitions, Timing timing, std::span<double> samples) {
    return stage().geometry.slots > 1
               ? time_moving<Step, aggregate, true>(context, repetitions, timing, samples)
               : time_moving<Step, aggregate, false>(context, repetitions, timing, samples);
  }

  template <class Step, bool aggregate, bool moving, class Seen>
  double time_moving(const Seen& context, std::int64_t repetitions, Timing timing,
                     std::span<double> samples) {
    const Laps<moving, false, spec.file_pointer == FilePointer::offset> laps(lap_plan());
    return timed_as<Step, spec.kind, aggregate>(context, laps, repetitions, timing, samples, stage().barrier,
                                                stage().comm);
  }

  void move(const Lap& lap) const override {
    if constexpr (spec.overlap) {
      MPI_Request request = MPI_REQUEST_NULL;
      Pattern::post(context(), lap, &request);
      Pattern::finish(context(), lap, &request);
    } else {
      Pattern::step(context(), lap);
    }
  }
};

/// A row of a catalogue of benchmarks on files.
template <class Pattern>
constexpr Entry file_entry() {
  return entry<Pattern, FileBatchOf>();
}

}  // namespace openimb
