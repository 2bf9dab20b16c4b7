#include "result/statistics.h"

#include <algorithm>
#include <cmath>

namespace openimb {

TableKind table_kind(const Spec& spec, Multi multi) {
  if (spec.kind == Kind::synchronisation) return TableKind::synchronisation;
  if (spec.message_rate) return TableKind::rate;
  if (spec.kind == Kind::collective) return TableKind::range;
  if (spec.kind == Kind::single_transfer && multi != Multi::summary) return TableKind::time_and_bandwidth;
  return TableKind::range_and_bandwidth;
}

namespace {

void add_rates(Row& row, const Table& table, std::int64_t bytes, int window) {
  if (table.kind == TableKind::range || table.kind == TableKind::synchronisation) return;
  const int pairs = table.layout.processes / 2;
  double messages = table.spec.turnover;
  if (table.kind == TableKind::rate) messages *= static_cast<double>(window) * pairs;
  const double per_second = row.t_max > 0 ? messages / row.t_max : 0;
  if (table.kind == TableKind::rate) row.messages_per_second = per_second;
  row.bytes_per_second = per_second * static_cast<double>(bytes);
}

void include(Row& row, int world_rank, double seconds, bool first) {
  if (first || seconds < row.t_min) row.t_min = seconds;
  if (first || seconds > row.t_max) {
    row.t_max = seconds;
    row.slowest_rank = world_rank;
  }
  row.t_avg += seconds;
}

}  // namespace

std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int window,
                         std::span<const double> seconds) {
  std::vector<Row> rows;
  const Layout& layout = table.layout;
  // Of an odd number of processes that form pairs the last stands aside and has no time.
  const int taking_part = table.kind == TableKind::rate ? layout.processes / 2 * 2 : layout.processes;
  for (int group = 0; group < layout.group_count(); ++group) {
    const bool opens_row = rows.empty() || table.multi == Multi::each_group;
    if (opens_row) rows.emplace_back().group = table.multi == Multi::each_group ? group : -1;
    bool first = opens_row;
    for (int member = 0; member < taking_part; ++member) {
      const int world_rank = layout.groups[group][member];
      include(rows.back(), world_rank, table.spec.time_factor * seconds[world_rank], first);
      first = false;
    }
  }
  for (Row& row : rows) {
    const int groups_in_row = table.multi == Multi::each_group ? 1 : layout.group_count();
    row.t_avg /= static_cast<double>(taking_part) * groups_in_row;
    add_rates(row, table, bytes, window);
  }
  return rows;
}

Tail tail_of(std::span<double> samples) {
  std::ranges::sort(samples);
  Tail tail{};
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double rank = std::ceil(tail_quantiles[i] * static_cast<double>(samples.size()));
    tail[i] = samples[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  }
  return tail;
}

}  // namespace openimb
