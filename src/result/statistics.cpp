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

// Returns the extremes over all threads, or over one thread.
Extremes extremes_of(std::span<const std::vector<int>> groups, std::size_t threads,
                     std::span<const double> seconds, std::optional<std::size_t> thread = {}) {
  Extremes extremes;
  for (const std::vector<int>& group : groups) {
    for (const int world_rank : group) {
      const std::size_t first = static_cast<std::size_t>(world_rank) * threads;
      for (std::size_t i = first; i < first + threads; ++i) {
        if (i - first == thread.value_or(i - first)) extremes.include(i, seconds[i]);
      }
    }
  }
  return extremes;
}

// Finds, for each thread, the rank with the largest `seconds`, and returns that rank's value in `shown`,
// times `factor`.
std::vector<double> slowest_by_thread(std::span<const std::vector<int>> groups, std::size_t threads,
                                      std::span<const double> seconds, std::span<const double> shown,
                                      double factor) {
  std::vector<double> slowest(threads);
  for (std::size_t thread = 0; thread < threads; ++thread) {
    const Extremes extremes = extremes_of(groups, threads, seconds, thread);
    slowest[thread] = extremes.count > 0 ? factor * shown[extremes.slowest] : 0;
  }
  return slowest;
}

// Returns the seconds of computation per repetition on the rank `shown`. In a single transfer one process
// waits while the other computes, so the times of both are added, and the sums are averaged over the groups.
double computation_of(const Table& table, std::span<const std::vector<int>> members,
                      std::span<const double> seconds, std::size_t shown) {
  if (table.spec.kind != Kind::single_transfer) return seconds[shown];
  const Extremes all = extremes_of(members, static_cast<std::size_t>(table.timed_threads()), seconds);
  return all.sum / static_cast<double>(members.size());
}

// Computes the row of one group or of all groups.
Row row_of(const Table& table, int in_flight, std::span<const std::vector<int>> members,
           std::span<const double> seconds, const OverlapTimes& overlapped) {
  const double factor = factor_of(table, in_flight);
  const auto threads = static_cast<std::size_t>(table.timed_threads());
  const Extremes times = extremes_of(members, threads, seconds);
  Row row;
  row.participants = times.count / static_cast<int>(threads * members.size());
  row[Figure::time_min] = factor * times.least;
  row[Figure::time_max] = factor * times.most;
  row[Figure::time_avg] = times.count > 0 ? factor * times.sum / times.count : 0;
  row.slowest = {.rank = static_cast<int>(times.slowest / threads),
                 .thread = static_cast<int>(times.slowest % threads)};
  if (threads > 1) row.thread_seconds = slowest_by_thread(members, threads, seconds, seconds, factor);
  if (overlapped.t_ovrl.empty()) return row;
  const Extremes slowest = extremes_of(members, threads, overlapped.t_ovrl);
  const double with_load = row[Figure::time_overlapped] = factor * slowest.most;
  if (overlapped.t_cpu.empty()) return row;
  const double pure = row[Figure::time_pure] = factor * seconds[slowest.slowest];
  const double cpu = row[Figure::time_cpu] =
      factor * computation_of(table, members, overlapped.t_cpu, slowest.slowest);
  row[Figure::overlap_percent] = overlap_percent(pure, cpu, with_load);
  return row;
}

// Returns the number of wrong bytes in the row's group, or in all groups.
std::int64_t defects_of(const Table& table, const Row& row, std::span<const double> wrong) {
  std::int64_t defects = 0;
  for (int group = 0; group < table.grouping.group_count(); ++group) {
    if (row.group >= 0 && row.group != group) continue;
    for (const int member : table.grouping.groups[static_cast<std::size_t>(group)]) {
      defects += static_cast<std::int64_t>(wrong[static_cast<std::size_t>(member)]);
    }
  }
  return defects;
}

// Sets each figure to the worst value of the row's groups, or to NaN if a group lacks it. Only a row of one
// group names ranks.
void set_arrivals(Row& row, const PointTimes& times) {
  const auto all = std::span(times.arrivals);
  const auto groups = row.group < 0 ? all : all.subspan(static_cast<std::size_t>(row.group), 1);
  const auto set = [&](Figure figure, double GroupArrivals::* member) {
    double& most = row[figure] = groups.front().*member;
    for (const GroupArrivals& group : groups) {
      if (!(most >= group.*member) && !std::isnan(most)) most = group.*member;
    }
  };
  set(Figure::time_from_last, &GroupArrivals::from_last);
  set(Figure::time_from_first, &GroupArrivals::from_first);
  set(Figure::start_skew, &GroupArrivals::start_skew);
  set(Figure::exit_skew, &GroupArrivals::exit_skew);
  row[Figure::valid_percent] = std::ranges::min(groups, {}, &GroupArrivals::valid_percent).valid_percent;
  const auto rank = [](double number) {
    return number < 0 ? std::optional<int>() : static_cast<int>(number);
  };
  if (groups.size() == 1) {
    row.arrivals.late_rank = rank(groups.front().late_rank);
    row.arrivals.last_out_rank = rank(groups.front().last_out_rank);
  }
  row.arrivals.given_up = times.given_up;
  row[Figure::clock_bound] = times.clock_bound;
  row[Figure::clock_disagreement] = times.clock_disagreement;
  row[Figure::arrival_width] = times.arrival_width;
}

// Returns how many messages the table's rates count in the time that the row shows.
double messages_of(const Table& table, const Row& row, int in_flight) {
  const Spec& spec = table.spec;
  const int pairs = row.participants / 2;
  switch (table.format().rates) {
    case Rates::per_process:
      return spec.messages_per_process *
             (spec.kind == Kind::multiple_transfer ? table.grouping.processes - 1.0 : 1.0);
    case Rates::all_pairs:
      return static_cast<double>(spec.messages_per_process) * in_flight * pairs;
    case Rates::all_processes:
      return spec.sent * row.participants * (spec.message_rate ? in_flight : 1);
    case Rates::per_message:
      return static_cast<double>(pairs) * table.timed_threads();
    case Rates::none:
      break;
  }
  return 0;
}

}  // namespace

double factor_of(const Table& table, int in_flight) {
  if (table.format().rates != Rates::per_message) return table.spec.time_factor;
  return table.spec.time_factor / (static_cast<double>(table.spec.messages_per_process) * in_flight);
}

void derive_figures(Row& row, const Table& table, std::int64_t bytes, int in_flight) {
  if (table.spec.partitioned) row[Figure::early_bird_share] = row[Figure::overlap_percent] / 100;
  const Rates rates = table.format().rates;
  if (rates == Rates::none) return;
  const auto per_second = [&](Figure time, double count) { return row[time] > 0 ? count / row[time] : 0; };
  const double messages = messages_of(table, row, in_flight);
  // As in IMB-MT, the message rate uses the mean time of all threads, and the throughput the time of the
  // slowest.
  const bool single_message = rates == Rates::per_message;
  if (rates != Rates::per_process) {
    row[Figure::messages_per_second] =
        per_second(single_message ? Figure::time_avg : Figure::time_max, messages);
  }
  const double lengths = single_message ? row.participants / 2 : messages;
  row[Figure::bytes_per_second] = per_second(Figure::time_max, lengths) * static_cast<double>(bytes);
}

std::vector<Row> rows_of(const Table& table, std::int64_t bytes, int in_flight,
                         std::span<const double> seconds, const OverlapTimes& overlapped) {
  const std::span<const std::vector<int>> groups = table.grouping.groups;
  const bool per_group = table.multi == Multi::each_group;
  std::vector<Row> rows;
  for (std::size_t first = 0; first < groups.size(); first += per_group ? 1 : groups.size()) {
    Row& row = rows.emplace_back(
        row_of(table, in_flight, per_group ? groups.subspan(first, 1) : groups, seconds, overlapped));
    row.group = per_group ? static_cast<int>(first) : -1;
    derive_figures(row, table, bytes, in_flight);
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
    if (!times.arrivals.empty()) set_arrivals(row, times);
    if (!times.repetition_seconds.empty() && !times.repetition_seconds[i].empty()) {
      row.repetition_seconds = std::move(times.repetition_seconds[i]);
      row.tail = tail_of(row.repetition_seconds);
    }
    if (!times.defects.empty()) row.defects = defects_of(table, row, times.defects);
    if (!times.waiting.empty()) {
      const std::span<const std::vector<int>> groups = table.grouping.groups;
      row.thread_waiting =
          slowest_by_thread(row.group < 0 ? groups : groups.subspan(static_cast<std::size_t>(row.group), 1),
                            static_cast<std::size_t>(table.timed_threads()), times.seconds, times.waiting,
                            factor_of(table, in_flight));
    }
    if (times.load_drift) row[Figure::load_drift] = *times.load_drift;
    row.hints = times.hints;
  }
  return measurement;
}

double overlap_percent(double t_pure, double t_cpu, double t_ovrl) {
  const double shorter = std::min(t_pure, t_cpu);
  if (!(shorter > 0)) return 0;
  return 100 * std::clamp((t_pure + t_cpu - t_ovrl) / shorter, 0.0, 1.0);
}

Tail tail_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  Tail tail{};
  for (std::size_t i = 0; i < tail.size(); ++i) {
    const double rank = std::ceil(tail_quantiles[i] * static_cast<double>(seconds.size()));
    tail[i] = seconds[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
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
