// The plan of a launch: which tables come in which order, and the points of each, with geometry, memory and
// counts, or the reason why a point cannot be measured. Pure: equal on all ranks. Source: guide, "Control
// Flow", "Memory and Disk Space Requirements".
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

/// Bytes that are composed or compared at once by -check and when buffers are filled: bounds the memory that
/// both need beside the message buffers. A multiple of every element's extent.
inline constexpr std::int64_t image_chunk = 1 << 20;

/// One point: a length in a table.
struct Point {
  std::int64_t bytes = 0;
  Geometry geometry;
  int in_flight = 1;               ///< messages in flight per repetition
  bool fewer = false;              ///< than -window_size, which would exceed -mem
  std::int64_t needed_bytes = 0;   ///< per process, as -mem counts them
  std::int64_t planned = 0;        ///< repetitions before their time is known
  std::optional<Failure> failure;  ///< why it cannot be measured, if that is known beforehand
  /// This rank's partners in a round of pairs; outlives the open point.
  const RoundPartners* round_partners = nullptr;

  std::optional<int> fewer_in_flight() const { return fewer ? std::optional(in_flight) : std::nullopt; }
};

/// Identifies a table. It is small, as a large launch has many.
struct TableKey {
  int benchmark = 0;  ///< index into the catalog
  Multi multi = Multi::off;
  int processes = 0;
  Transfers transfers = Transfers::unmarked;
  int variant = -1;  ///< index into Options::variants; -1: none. Variants of a table follow each other.
  bool operator==(const TableKey&) const = default;
};

/// The order in which `variants` are measured at a point: each is the first one equally often, and in every
/// second cycle of visits the order is reversed, so that none always follows the same other one.
std::vector<int> order_of_variants(int variants, int visit);

struct TablePlan {
  int benchmark = 0;
  int variant = -1;  ///< as TableKey's
  Table table;
  Element element;
  IterationPolicy policy = IterationPolicy::dynamic;
  bool synchronized = false;       ///< -sync on: the clock is read around each repetition
  bool gated = false;              ///< -sync_start clock: and each begins at an agreed time
  std::vector<Point> points;       ///< in the order in which they run
  std::optional<Point> warm_up;    ///< guide, "Warm-Up Phase": a short message, once per table
  std::optional<Failure> failure;  ///< why there is no table

  const Spec& spec() const { return table.spec; }
};

class Schedule {
 public:
  /// `catalog`: of the component, indexed by Options::selection; `ranks`: of the launch; `off_cache`: with
  /// the machine's figures filled in; `large_counts`: whether the MPI has calls with MPI_Count. Catalog and
  /// options outlive the schedule.
  Schedule(std::span<const Spec> catalog, const Options& options, int ranks,
           const std::optional<OffCache>& off_cache, bool large_counts);

  /// In the order in which they run.
  const std::vector<TableKey>& tables() const { return tables_; }
  TablePlan plan(const TableKey& key) const;

  /// The rule that decides the repetitions of a point.
  std::unique_ptr<Sampling> sampling(const TablePlan& plan, const Point& point) const;
  /// The rule for one pass. `pass`: with `seconds`, `shortest` and `seconds_each` filled in.
  std::unique_ptr<Sampling> sampling(const TablePlan& plan, const Point& point, PassLimits pass) const;

 private:
  SamplingLimits limits(const TablePlan& plan, const Point& point) const;
  std::int64_t rotation(const TablePlan& plan) const;
  std::int64_t cycle_of(const TablePlan& plan, const Point& point) const;
  int available() const;                   ///< processes that may take part
  int threads_of(const Spec& spec) const;  ///< of a process, with messages of their own
  int threads_in(const Spec& spec) const;  ///< of a process, that communicate
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

/// The failure row of a point that needs more memory than -mem allows (`beyond_limit`), or than the machine
/// or the GPU has left.
Failure out_of_memory(const Point& point, bool beyond_limit, bool on_gpu = false);

}  // namespace openimb
