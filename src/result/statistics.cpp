#include "result/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace openimb {

TableKind table_kind(const Spec& spec, Multi multi) {
  if (spec.overlap) {
    return spec.kind == Kind::synchronisation ? TableKind::synchronisation_overlap : TableKind::overlap;
  }
  if (spec.kind == Kind::synchronisation) return TableKind::synchronisation;
  if (spec.message_rate) return TableKind::rate;
  if (spec.computing_target) return TableKind::passive;
  const bool on_files = spec.access == Access::file;  // collectives too move data to or from somewhere
  if ((spec.kind == Kind::collective && !on_files) || !spec.throughput) return TableKind::range;
  if (spec.kind != Kind::single_transfer && spec.kind != Kind::multiple_transfer)
    return TableKind::range_and_bandwidth;
  if (multi == Multi::summary) return TableKind::range_and_bandwidth;
  return TableKind::time_and_bandwidth;
}

namespace {

void add_rates(Row& row, const Table& table, std::int64_t bytes, int window) {
  constexpr TableKind with_rates[] = {TableKind::time_and_bandwidth, TableKind::range_and_bandwidth,
                                      TableKind::rate};
  if (std::ranges::find(with_rates, table.kind) == std::end(with_rates)) return;
  const int pairs = table.layout.processes / 2;
  double messages = table.spec.turnover;
  if (table.spec.kind == Kind::multiple_transfer) messages *= table.layout.processes - 1;
  if (table.kind == TableKind::rate) messages *= static_cast<double>(window) * pairs;
  const double per_second = row.t_max > 0 ? messages / row.t_max : 0;
  if (table.kind == TableKind::rate) row.messages_per_second = per_second;
  row.bytes_per_second = per_second * static_cast<double>(bytes);
}

struct Extremes {
  double least = 0, most = 0, sum = 0;
  int count = 0;
  int slowest = 0;

  void include(int world_rank, double seconds) {
    if (std::isnan(seconds)) return;
    if (count == 0 || seconds < least) least = seconds;
    if (count == 0 || seconds > most) {
      most = seconds;
      slowest = world_rank;
    }
    sum += seconds;
    ++count;
  }
};

Extremes extremes_of(std::span<const std::vector<int>> groups, std::span<const double> seconds) {
  Extremes extremes;
  for (const std::vector<int>& group : groups) {
    for (const int world_rank : group) extremes.include(world_rank, seconds[world_rank]);
  }
  return extremes;
}

}  // namespace

std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int window, std::span<const double> seconds,
                         const Overlapped& overlapped) {
  const std::span<const std::vector<int>> groups = table.layout.groups;
  const bool each = table.multi == Multi::each_group;
  const double factor = table.spec.time_factor;
  std::vector<Row> rows;
  for (std::size_t first = 0; first < groups.size(); first += each ? 1 : groups.size()) {
    const auto members = each ? groups.subspan(first, 1) : groups;
    const Extremes times = extremes_of(members, seconds);
    Row& row = rows.emplace_back();
    row.group = each ? static_cast<int>(first) : -1;
    row.t_min = factor * times.least;
    row.t_max = factor * times.most;
    row.t_avg = times.count > 0 ? factor * times.sum / times.count : 0;
    row.slowest_rank = times.slowest;
    if (!overlapped.t_ovrl.empty()) {
      const Extremes slowest = extremes_of(members, overlapped.t_ovrl);
      row.t_overlap = factor * slowest.most;
      if (!overlapped.t_cpu.empty()) {
        row.t_pure = seconds[slowest.slowest];
        row.t_cpu = overlapped.t_cpu[slowest.slowest];
        row.overlap_percent = overlap_percent(*row.t_pure, *row.t_cpu, *row.t_overlap);
      }
    }
    add_rates(row, table, bytes, window);
  }
  return rows;
}

double overlap_percent(double t_pure, double t_cpu, double t_ovrl) {
  const double shorter = std::min(t_pure, t_cpu);
  if (!(shorter > 0)) return 0;
  return 100 * std::clamp((t_pure + t_cpu - t_ovrl) / shorter, 0.0, 1.0);
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

double trimmed_mean(std::vector<double> parts) {
  std::ranges::sort(parts);
  const std::size_t tenth = parts.size() / 10;
  const std::span kept = std::span(parts).subspan(tenth, parts.size() - 2 * tenth);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

}  // namespace openimb
