#include "result/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace openimb {

namespace {

struct Extremes {
  double least = 0, most = 0, sum = 0;
  int count = 0;
  std::size_t slowest = 0;

  void include(std::size_t index, double seconds) {
    if (std::isnan(seconds)) return;
    if (count == 0 || seconds < least) least = seconds;
    if (count == 0 || seconds > most) {
      most = seconds;
      slowest = index;
    }
    sum += seconds;
    ++count;
  }
};

Extremes extremes_of(std::span<const std::vector<int>> groups, std::size_t threads,
                     std::span<const double> seconds) {
  Extremes extremes;
  for (const std::vector<int>& group : groups) {
    for (const int world_rank : group) {
      const std::size_t first = static_cast<std::size_t>(world_rank) * threads;
      for (std::size_t i = first; i < first + threads; ++i) extremes.include(i, seconds[i]);
    }
  }
  return extremes;
}

// Of each thread the slowest rank's time, or what else that rank has.
std::vector<double> slowest_of_threads(std::span<const std::vector<int>> groups, std::size_t threads,
                                       std::span<const double> seconds, std::span<const double> shown,
                                       double factor) {
  std::vector<double> slowest(threads);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    Extremes extremes;
    for (const std::vector<int>& group : groups) {
      for (const int world_rank : group) {
        const std::size_t index = static_cast<std::size_t>(world_rank) * threads + thread;
        extremes.include(index, seconds[index]);
      }
    }
    slowest[thread] = extremes.count > 0 ? factor * shown[extremes.slowest] : 0;
  }
  return slowest;
}

// In a repetition, on the rank that is shown. In a single transfer one process waits while the other
// computes: of both together, on average over the groups.
double computation_of(const Table& table, std::span<const std::vector<int>> members,
                      std::span<const double> seconds, std::size_t shown) {
  if (table.spec.kind != Kind::single_transfer) return seconds[shown];
  const Extremes all = extremes_of(members, static_cast<std::size_t>(table.timed_threads()), seconds);
  return all.sum / static_cast<double>(members.size());
}

// A row is of all groups, or of one.
Row row_of(const Table& table, int in_flight, std::span<const std::vector<int>> members,
           std::span<const double> seconds, const Overlapped& overlapped) {
  const double factor = factor_of(table, in_flight);
  const auto threads = static_cast<std::size_t>(table.timed_threads());
  const Extremes times = extremes_of(members, threads, seconds);
  Row row;
  row.taking_part = times.count / static_cast<int>(threads * members.size());
  row.t_min = factor * times.least;
  row.t_max = factor * times.most;
  row.t_avg = times.count > 0 ? factor * times.sum / times.count : 0;
  row.slowest_rank = static_cast<int>(times.slowest / threads);
  row.slowest_thread = static_cast<int>(times.slowest % threads);
  if (threads > 1) row.of_threads = slowest_of_threads(members, threads, seconds, seconds, factor);
  if (overlapped.t_ovrl.empty()) return row;
  const Extremes slowest = extremes_of(members, threads, overlapped.t_ovrl);
  row.t_overlap = factor * slowest.most;
  if (overlapped.t_cpu.empty()) return row;
  row.t_pure = factor * seconds[slowest.slowest];
  row.t_cpu = factor * computation_of(table, members, overlapped.t_cpu, slowest.slowest);
  row.overlap_percent = overlap_percent(*row.t_pure, *row.t_cpu, *row.t_overlap);
  return row;
}

// Of all groups, or of the one that the row is about.
std::int64_t defects_of(const Table& table, const Row& row, std::span<const double> wrong) {
  std::int64_t defects = 0;
  for (int group = 0; group < table.layout.group_count(); ++group) {
    if (row.group >= 0 && row.group != group) continue;
    for (const int member : table.layout.groups[static_cast<std::size_t>(group)]) {
      defects += static_cast<std::int64_t>(wrong[static_cast<std::size_t>(member)]);
    }
  }
  return defects;
}

// Tables with the rates of what all processes send together.
bool counts_sent(TableKind kind) { return kind == TableKind::mean_and_rate || kind == TableKind::labeled; }
bool shows_messages(TableKind kind) { return kind == TableKind::rate || counts_sent(kind); }

}  // namespace

double factor_of(const Table& table, int in_flight) {
  if (table.kind != TableKind::time_and_rate) return table.spec.time_factor;
  return table.spec.time_factor / (static_cast<double>(table.spec.turnover) * in_flight);
}

void add_rates(Row& row, const Table& table, std::int64_t bytes, int in_flight) {
  constexpr TableKind with_rates[] = {TableKind::time_and_bandwidth,
                                      TableKind::range_and_bandwidth,
                                      TableKind::rate,
                                      TableKind::mean_and_rate,
                                      TableKind::labeled,
                                      TableKind::time_and_rate};
  if (std::ranges::find(with_rates, table.kind) == std::end(with_rates)) return;
  const int pairs = row.taking_part / 2;
  // As IMB-MT has them: the rate of messages by the mean of all threads, the throughput by the slowest.
  if (table.kind == TableKind::time_and_rate) {
    const double threads = table.timed_threads();
    row.messages_per_second = row.t_avg > 0 ? pairs * threads / row.t_avg : 0;
    row.bytes_per_second = row.t_max > 0 ? pairs * static_cast<double>(bytes) / row.t_max : 0;
    return;
  }
  double messages = table.spec.turnover;
  if (table.spec.kind == Kind::multiple_transfer) messages *= table.layout.processes - 1;
  if (table.kind == TableKind::rate) messages *= static_cast<double>(in_flight) * pairs;
  if (counts_sent(table.kind)) {
    messages = table.spec.sent * row.taking_part;
    if (table.spec.message_rate) messages *= in_flight;
  }
  const double per_second = row.t_max > 0 ? messages / row.t_max : 0;
  if (shows_messages(table.kind)) row.messages_per_second = per_second;
  row.bytes_per_second = per_second * static_cast<double>(bytes);
}

std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int in_flight,
                         std::span<const double> seconds, const Overlapped& overlapped) {
  const std::span<const std::vector<int>> groups = table.layout.groups;
  const bool each = table.multi == Multi::each_group;
  std::vector<Row> rows;
  for (std::size_t first = 0; first < groups.size(); first += each ? 1 : groups.size()) {
    Row& row = rows.emplace_back(
        row_of(table, in_flight, each ? groups.subspan(first, 1) : groups, seconds, overlapped));
    row.group = each ? static_cast<int>(first) : -1;
    add_rates(row, table, bytes, in_flight);
  }
  return rows;
}

Measurement measurement_of(const Table& table, std::int64_t bytes, std::int64_t repetitions, int in_flight,
                           PointTimes times) {
  Measurement measurement{.bytes = bytes,
                          .repetitions = repetitions,
                          .rows = rows_of(table, bytes, in_flight, times.seconds, times.overlapped)};
  for (std::size_t i = 0; i < measurement.rows.size(); ++i) {
    Row& row = measurement.rows[i];
    if (!times.samples.empty()) {
      row.samples = std::move(times.samples[i]);
      row.tail = tail_of(row.samples);
    }
    if (!times.defects.empty()) row.defects = defects_of(table, row, times.defects);
    if (!times.waiting.empty()) {
      const std::span<const std::vector<int>> groups = table.layout.groups;
      row.waiting_of_threads =
          slowest_of_threads(row.group < 0 ? groups : groups.subspan(static_cast<std::size_t>(row.group), 1),
                             static_cast<std::size_t>(table.timed_threads()), times.seconds, times.waiting,
                             factor_of(table, in_flight));
    }
    row.load_drift = times.load_drift;
    row.hints = times.hints;
  }
  return measurement;
}

double overlap_percent(double t_pure, double t_cpu, double t_ovrl) {
  const double shorter = std::min(t_pure, t_cpu);
  if (!(shorter > 0)) return 0;
  return 100 * std::clamp((t_pure + t_cpu - t_ovrl) / shorter, 0.0, 1.0);
}

Tail tail_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  Tail tail{};
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double rank = std::ceil(tail_quantiles[i] * static_cast<double>(samples.size()));
    tail[i] = samples[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  }
  return tail;
}

double trimmed_mean(std::vector<double> segments) {
  std::ranges::sort(segments);
  const std::size_t tenth = segments.size() / 10;
  const std::span kept = std::span(segments).subspan(tenth, segments.size() - 2 * tenth);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

}  // namespace openimb
