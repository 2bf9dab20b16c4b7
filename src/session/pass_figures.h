// A launch in passes as it stands: its tables and points, and at rank 0 what their samples show.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/schedule.h"
#include "result/passes.h"
#include "session/resources.h"

namespace openimb {

/// A point over all passes. Rows are rank 0's; all else is equal on all ranks.
struct PassPoint {
  const Point* point = nullptr;
  int first_row = 0;
  std::int64_t gone = 0;  ///< repetitions measured
  double each = 0;        ///< seconds of one, the least of any pass
  double cost = 0;        ///< seconds of the last sample, with all that goes with it; of this rank
  int samples = 0;
  bool done = false;
  bool within = false;  ///< the precision, at the last judgment
  std::optional<Failure> failure;
  std::vector<RowSeries> rows;
};

struct PassTable {
  explicit PassTable(TablePlan plan_of_it) : plan(std::move(plan_of_it)) {}
  const TablePlan plan;
  bool begun = false;
  std::unique_ptr<OpenTable> open;
  std::optional<Failure> failure;
  std::vector<PassPoint> points;

  bool idle() const {
    return failure.has_value() ||
           std::ranges::all_of(points, [](const PassPoint& one) { return one.done || one.failure; });
  }
};

using PassTables = std::vector<std::unique_ptr<PassTable>>;

/// From the series of all rows to their figures; at rank 0.
class PassFigures {
 public:
  /// `tables` outlive it.
  explicit PassFigures(const PassTables& tables) : tables_(tables) {}
  /// Finds the states anew; see find_states().
  void assign_states(std::size_t fitted);
  /// Of a point with samples, once states are assigned.
  Measurement summary(const PassTable& table, const PassPoint& one) const;

 private:
  /// Rows that are measured on the same ranks: processes, groups, group.
  using Ranks = std::tuple<int, int, int>;
  static Ranks ranks_of(const PassTable& table, const RowSeries& series) {
    const Layout& layout = table.plan.table.layout;
    return {layout.processes, layout.group_count(), series.first.group};
  }

  const PassTables& tables_;
  std::map<Ranks, MachineStates> states_;
};

}  // namespace openimb
