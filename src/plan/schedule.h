// The plan of a launch: its tables in order, and the points of each table. A point has its buffers, memory
// and repetitions, or the reason why it cannot be measured. The functions are pure, so all ranks get the same
// plan. Source: guide, "Control Flow", "Memory and Disk Space Requirements".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/options.h"
#include "model/table.h"
#include "plan/geometry.h"
#include "plan/rounds.h"
#include "plan/sampling.h"

namespace openimb {

/// Bytes of expected contents that the engine composes or compares at once, for -check and to fill buffers.
/// The chunk limits the memory that both need besides the message buffers. It is a multiple of every
/// element's extent.
inline constexpr std::int64_t image_chunk = 1 << 20;

/// One point: a message length in a table.
struct Point {
  std::int64_t bytes = 0;
  Geometry geometry;
  int in_flight = 1;               ///< messages in flight per repetition
  bool fewer = false;              ///< in_flight is less than -window_size, which would exceed -mem
  std::int64_t needed_bytes = 0;   ///< per process, as -mem counts them
  std::int64_t planned = 0;        ///< repetitions before their time is known
  std::optional<Failure> failure;  ///< why the point cannot be measured, if that is known beforehand
  /// IMB-FABRIC: this rank's partners in the round. The pointee outlives the point's measurement.
  const RoundPartners* round_partners = nullptr;

  std::optional<int> fewer_in_flight() const { return fewer ? std::optional(in_flight) : std::nullopt; }
};

/// Identifies a table. The struct is small because a large launch has many tables.
struct TableKey {
  int benchmark = 0;  ///< index into the catalog
  Multi multi = Multi::off;
  int processes = 0;
  Transfers transfers = Transfers::unmarked;
  int variant = -1;  ///< index into Options::variants; -1: no variant
  bool operator==(const TableKey&) const = default;
};

/// Returns the order in which `variants` variants are measured at visit number `visit` of a point. Each
/// variant is first equally often. In every second cycle of visits the order is reversed, so that no variant
/// always follows the same other one.
std::vector<int> variant_order(int variants, int visit);

/// A table with its points, or the reason why there is no table.
struct TablePlan {
  int benchmark = 0;  ///< index into the catalog
  int variant = -1;   ///< index into Options::variants; -1: no variant
  Table table;
  Element element;
  IterationPolicy policy = IterationPolicy::dynamic;
  bool synchronized = false;       ///< -sync on: the clock is read around each repetition
  bool gated = false;              ///< -sync_start clock: each repetition begins at an agreed time
  std::vector<Point> points;       ///< in the order in which they run
  std::optional<Point> warm_up;    ///< a short message, once per table; guide, "Warm-Up Phase"
  std::optional<Failure> failure;  ///< why there is no table

  const Spec& spec() const { return table.spec; }
};

/// Makes the plan of each table.
class Schedule {
 public:
  /// `catalog`: the component's benchmarks, indexed by Options::selection. `ranks`: number of ranks of the
  /// launch. `off_cache`: with the machine's values filled in. `large_counts`: whether the MPI has calls with
  /// MPI_Count. Catalog and options must outlive the schedule.
  Schedule(std::span<const Spec> catalog, const Options& options, int ranks,
           const std::optional<OffCache>& off_cache, bool large_counts);

  /// All tables in the order in which they run.
  const std::vector<TableKey>& tables() const { return tables_; }
  TablePlan plan(const TableKey& key) const;

  /// The rule that decides the number of repetitions of a point.
  std::unique_ptr<Sampling> sampling(const TablePlan& plan, const Point& point) const;
  /// The rule for one pass. The caller fills in `seconds`, `shortest` and `seconds_each` of `pass`.
  std::unique_ptr<Sampling> sampling(const TablePlan& plan, const Point& point, PassLimits pass) const;

 private:
  SamplingLimits limits(const TablePlan& plan, const Point& point) const;
  std::int64_t rotation(const TablePlan& plan) const;
  std::int64_t cycle_of(const TablePlan& plan, const Point& point) const;
  int available() const;                              ///< number of processes that may take part
  int threads_with_messages(const Spec& spec) const;  ///< threads of a process that have their own messages
  int threads_that_communicate(const Spec& spec) const;  ///< threads of a process that communicate
  void add_tables(const SelectedBenchmark& selected);
  Spec spec_of(int benchmark) const;
  std::int64_t received_at_once(int in_flight) const;
  bool was_named(int benchmark) const;
  std::string exclusion_reason(const Spec& spec) const;
  std::string clock_error(const Spec& spec) const;
  std::vector<Transfers> modes_of(const Spec& spec) const;
  void add_variants(TableKey key);
  Point plan_point(const TablePlan& plan, std::int64_t bytes) const;
  Point plan_point(const TablePlan& plan, std::int64_t bytes, int in_flight) const;
  std::int64_t memory_needed(const TablePlan& plan, const Point& point) const;
  std::optional<Failure> failure_of(const TablePlan& plan, const Point& point) const;

  std::span<const Spec> catalog_;
  const Options& options_;
  const int ranks_;
  const std::optional<OffCache> off_cache_;
  const bool large_counts_;
  std::vector<TableKey> tables_;
};

/// Returns the failure of a point that needs too much memory: more than -mem allows (`beyond_limit`), or more
/// than the machine or the GPU has left.
Failure out_of_memory(const Point& point, bool beyond_limit, bool on_gpu = false);

}  // namespace openimb
