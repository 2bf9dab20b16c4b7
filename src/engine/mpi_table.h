// The MPI resources of one table.
#pragma once

#include <functional>

#include "engine/mpi_resources.h"
#include "engine/setup.h"
#include "mpi/attached_buffer.h"
#include "mpi/datatype.h"

namespace openimb {

/// An OpenTable of MpiResources. It makes the batches of its points.
class MpiTable final : public OpenTable {
 public:
  /// Collective over the world.
  MpiTable(MpiResources& shared, const TablePlan& plan);

  std::optional<Failure> failure() const override { return failure_; }
  bool has_memory_for(const Point& point) const override {
    return unallocatable_ == 0 || point.needed_bytes < unallocatable_;
  }
  ProcessGroup& group() override { return group_ranks_; }
  OpenResult open(const Point& point, std::int64_t completed) override;
  bool resume() override;
  void use_variant(bool on) override;
  void set_arrival(const Arrival& arrival) override {
    if (gate_) gate_->set_arrival(arrival);
  }
  double probe(int exchanges) override;
  std::string fill_files(const Point& point) override;

 private:
  const Spec& spec() const { return plan_.spec(); }
  using Shared = std::shared_ptr<const Communicator>;
  Shared group_of_thread(int thread);
  Shared make_control() const;
  bool active() const { return group_->contains_me(); }
  WindowKind window_kind() const { return spec().one_sided.window_kind(shared_.options_.window_kind); }
  ExposedBuffer allocated_by_mpi() const;
  MemoryKind exposed_kind() const { return shared_.options_.memory.window_memory(spec()); }
  bool can_create_windows();
  void allocate();
  bool try_to_allocate(std::span<const Point* const> points);
  Window make_window(const Geometry& geometry);
  std::unique_ptr<AttachedBuffer> attach_buffer(const Point& point) const;
  void fill_buffers();
  FileSetup file_of(const Point& point) const;
  std::unique_ptr<Setup> make_setup(const Point& point, std::int64_t completed, Window window) const;
  Neighborhood neighborhood_of_rank() const;
  std::unique_ptr<Batch> make_team(const Point& point, std::int64_t completed) const;
  std::function<void()> rank_barrier() const;
  void make_thread_comms();
  int threads() const { return plan_.table.timed_threads(); }
  const Threads& thread_options() const { return shared_.options_.threads; }
  void fill_part(int thread);
  void adopt_window_memory(Setup& setup) const;

  MpiResources& shared_;
  const TablePlan& plan_;
  const Shared group_;    ///< for the calls under test, made under the table's variant; null on idle ranks
  const Shared control_;  ///< has the same ranks; for messages of the suite itself
  MpiProcessGroup group_ranks_;
  const std::unique_ptr<Gate> gate_;  ///< for this rank's group; null without -sync_start clock
  const SumOperation sum_;
  /// Computed once, because drawing a random graph takes as long as a sample.
  const Neighborhood neighborhood_;
  std::optional<Failure> failure_;
  std::vector<Shared> thread_comms_;  ///< for threads 1, 2, ...; empty if threads share a communicator
  Capacity part_;                     ///< bytes from one thread's part of the buffers to the next
  Capacity capacity_;  ///< bytes of one thread for all points that have memory, without what MPI allocates
  /// Points that need this many bytes or more have no memory; 0: all points have memory.
  std::int64_t unallocatable_ = 0;
};

}  // namespace openimb
