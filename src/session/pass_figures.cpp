#include "session/pass_figures.h"

namespace openimb {

void PassFigures::assign_states(std::size_t fitted) {
  std::map<Ranks, std::vector<RowSeries*>> together;
  for (const auto& table : tables_) {
    for (PassPoint& one : table->points) {
      for (RowSeries& series : one.rows) together[ranks_of(*table, series)].push_back(&series);
    }
  }
  states_.clear();
  for (const auto& [ranks, rows] : together) states_[ranks] = openimb::assign_states(rows, fitted);
}

Measurement PassFigures::summary(const PassTable& table, const PassPoint& one) const {
  Measurement found{.bytes = one.point->bytes,
                    .repetitions = 0,
                    .rows = {},
                    .first_row = one.first_row,
                    .fewer_in_flight = one.point->fewer_in_flight()};
  for (const RowSeries& series : one.rows) {
    Summary summary = summarize(table.plan.table, found.bytes, one.point->in_flight, series,
                                states_.at(ranks_of(table, series)));
    found.repetitions = summary.repetitions;
    found.rows.push_back(std::move(summary.row));
  }
  return found;
}

}  // namespace openimb
