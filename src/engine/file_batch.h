// A benchmark of IMB-IO on one rank for one point. Every run creates a new file if it writes, and opens the
// file again if it reads. Source: guide, "File (IMB-IO)", "Non-blocking I/O Benchmarks".
#pragma once

#include <memory>
#include <string>

#include "engine/batch.h"
#include "mpi/file.h"

namespace openimb {

/// Completes writes as in the guide, "Assured Completion of Transfers". With -fsync never, it only has a
/// barrier.
template <FileSync sync, class C>
void complete_writes(const C& c) {
  if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
  MPI_Barrier(c.comm);
  if constexpr (sync == FileSync::standard) MPI_File_sync(c.file);
}
template <class Pattern, FileSync sync>
struct WriteCompletionLoop : Pattern {
  template <class C>
  static void close(const C& c) {
    complete_writes<sync>(c);
  }
};

/// The part of a batch on a file that is not timed.
class FileBatch : public Batch {
 public:
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;
  ~FileBatch() override;

  void prepare() override;
  void conclude(std::int64_t repetitions) override;
  std::int64_t check(std::int64_t repetitions) override;
  bool takes_part() const override { return true; }
  std::string take_error() override { return errors_.take(); }
  Hints hints() const override { return hints_; }

 protected:
  FileBatch(const Spec& spec, std::unique_ptr<const Setup> setup);
  const Setup& setup() const { return *setup_; }
  IterationPlan plan() const { return iteration_plan(*setup_, false, false); }
  template <class Count>
  FileContext<Count> context_for() const {
    FileContext<Count> context;
    static_cast<GroupContext&>(context) = group_;
    context.file = file_.handle();
    context.count = static_cast<Count>(setup_->file.tile.share);
    context.name = setup_->file.name.c_str();
    context.info = setup_->info;
    context.mark = &mark_;
    context.errors = &errors_;
    return context;
  }

 private:
  /// Runs the calls under test once. A nonblocking benchmark makes its nonblocking calls.
  virtual void transfer(const Iteration& it) const = 0;

  static unsigned char mark_of(int rank) { return static_cast<unsigned char>(1 + rank % 255); }
  bool has_one_rank() const { return spec_.file.own || spec_.kind == Kind::single_transfer; }
  bool writes() const { return spec_.file.use == FileUse::write; }
  bool reads() const { return spec_.file.use == FileUse::read; }
  void barrier() const;
  void open();
  void close_file();
  void delete_file() const;
  File open_on_self() const;
  void require_size(const File& file, std::int64_t repetitions);
  void complete() const;
  std::int64_t check_writes(std::int64_t repetitions);
  std::int64_t check_reads(std::int64_t repetitions);
  std::int64_t check_opening();

  const Spec& spec_;
  std::unique_ptr<const Setup> setup_;
  GroupContext group_;  ///< the ranks that open the file
  unsigned char mark_ = 0;
  mutable FileErrors errors_;
  File file_;
  Hints hints_;
};

/// The batch of one pattern: its timed loops.
template <class Pattern, class Count>
class FileBatchOf final : public FileBatch {
  static constexpr Spec spec = Pattern::spec;
  static constexpr bool writes = spec.file.use == FileUse::write;
  using Loop = LoopOf<Pattern>;

 public:
  explicit FileBatchOf(std::unique_ptr<const Setup> setup) : FileBatch(Pattern::spec, std::move(setup)) {}

  double run(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds) override {
    const RunRequest request{repetitions, timing, repetition_seconds, setup()};
    return apply_step([&]<class Step>(Step) {
      constexpr LoopTraits loops{.aggregate = writes && spec.aggregation != Aggregation::non_aggregate_only,
                                 .synchronized = one_by_one.synchronized,
                                 .offset = one_by_one.offset};
      return run_loop<Step, loops>(context(), plan(), request);
    });
  }

  double run_with_load(std::int64_t repetitions, Timing timing, std::span<double> repetition_seconds,
                       LoadUse& load) override {
    if constexpr (spec.overlaps()) {
      const RunRequest request{repetitions, timing, repetition_seconds, setup()};
      const LoadContext<FileContext<Count>> loaded{context(), plan_load(*setup().load, load)};
      return apply_step([&]<class Step>(Step) {
        return run_loop<LoadLoop<Step, WallClock>, one_by_one>(loaded, plan(), request);
      });
    }
    return 0;
  }

 private:
  FileContext<Count> context() const { return context_for<Count>(); }

  static constexpr LoopTraits one_by_one{.synchronized = spec.kind == Kind::collective,
                                         .offset = spec.file.pointer == FilePointer::offset};

  /// Calls `function` with the step for the value of -fsync.
  template <class Function>
  auto apply_step(const Function& function) {
    if constexpr (!writes) {
      return function(Loop{});
    } else if (setup().file.sync == FileSync::standard) {
      return function(WriteCompletionLoop<Loop, FileSync::standard>{});
    } else {
      return function(WriteCompletionLoop<Loop, FileSync::never>{});
    }
  }

  void transfer(const Iteration& it) const override {
    if constexpr (spec.overlaps()) {
      MPI_Request request = MPI_REQUEST_NULL;
      Loop::post(context(), it, &request);
      Loop::finish(context(), it, &request);
    } else {
      Loop::step(context(), it);
    }
  }
};

}  // namespace openimb
