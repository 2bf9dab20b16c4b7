#include "result/passes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "result/interval.h"
#include "result/quantile.h"
#include "result/statistics.h"

namespace openimb {

namespace {

// With fewer samples in the reference state, a row uses all its samples. A median of three tolerates one
// outlier, and samples of another state are wrong by the distance between the states.
constexpr std::size_t fewest_in_reference = 3;

using Samples = std::vector<const RowSample*>;

std::vector<double> values_of(const Samples& samples, Figure figure) {
  std::vector<double> values;
  for (const RowSample* sample : samples) {
    if (sample->figures.has(figure)) values.push_back(sample->figures[figure]);
  }
  return values;
}

double half_width(const MedianEstimate& estimate) {
  const double wider =
      std::max(estimate.interval->high - estimate.median, estimate.median - estimate.interval->low);
  return estimate.median > 0 ? wider / estimate.median : 0;
}

void add_interval(SampleStatistics& statistics, const Samples& samples,
                  const ShortList<Figure, 2>& precision_targets) {
  for (const Figure figure : precision_targets) {
    const std::vector<double> values = values_of(samples, figure);
    if (values.empty()) return statistics.half_width.reset();
    const MedianEstimate estimate = estimate_median(values);
    if (figure == *precision_targets.begin()) {
      statistics.interval = estimate.interval;
      statistics.effective = estimate.effective;
    }
    if (!estimate.interval) return statistics.half_width.reset();
    statistics.half_width = std::max(statistics.half_width.value_or(0), half_width(estimate));
  }
}

double median_or_zero(std::vector<double> values) {
  return values.empty() ? 0 : median_of(std::move(values));
}

void add_states(SampleStatistics& statistics, const RowSeries& series, const MachineStates& machine,
                Figure first_target) {
  for (std::size_t k = 0; k < machine.states.size(); ++k) {
    Samples members;
    for (const RowSample& sample : series.samples) {
      if (sample.state == static_cast<int>(k)) members.push_back(&sample);
    }
    statistics.states.push_back({.level = machine.states[k].level,
                                 .samples = static_cast<int>(members.size()),
                                 .median = median_or_zero(values_of(members, first_target))});
  }
  statistics.between_states = static_cast<int>(std::ranges::count(series.samples, -1, &RowSample::state));
}

// Returns the rank that was slowest in most samples.
SlowestRank most_often_slowest(const Samples& samples) {
  std::map<SlowestRank, int> counts;
  for (const RowSample* sample : samples) ++counts[sample->slowest];
  return std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first;
}

// Returns the rank that most samples name. With `majority`, more than half of the samples must name it.
std::optional<int> most_often_named(const Samples& samples, std::optional<int> Arrivals::* rank,
                                    bool majority) {
  std::map<int, std::size_t> counts;
  for (const RowSample* sample : samples) {
    if (const std::optional<int> named = sample->arrivals.*rank) ++counts[*named];
  }
  if (counts.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (majority && 2 * most->second <= samples.size()) return std::nullopt;
  return most->first;
}

bool is_known(double probe) { return std::isfinite(probe) && probe > 0; }

}  // namespace

MachineStates assign_states(std::span<RowSeries* const> rows, std::size_t fitted) {
  std::vector<RowSample*> samples;
  for (RowSeries* row : rows) {
    for (RowSample& sample : row->samples) {
      sample.state = 0;
      if (is_known(sample.probes.before) && is_known(sample.probes.after)) samples.push_back(&sample);
    }
  }
  std::ranges::sort(samples, {}, &RowSample::at);
  std::vector<double> probes;
  for (const RowSample* sample : samples) {
    probes.push_back(sample->probes.before);
    probes.push_back(sample->probes.after);
  }
  MachineStates machine = find_states(probes, fitted);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const int before = machine.state_by_probe[2 * i], after = machine.state_by_probe[2 * i + 1];
    samples[i]->state = before == after ? before : -1;
  }
  return machine;
}

Summary summarize(const Table& table, std::int64_t bytes, int in_flight, const RowSeries& series,
                  const MachineStates& states) {
  Samples all, reference;
  for (const RowSample& sample : series.samples) {
    all.push_back(&sample);
    if (sample.state == 0) reference.push_back(&sample);
  }
  SampleStatistics statistics;
  statistics.samples = static_cast<int>(all.size());
  const auto& precision_targets = table.format().precision_targets;
  add_states(statistics, series, states, *precision_targets.begin());
  statistics.reference = reference.size() >= std::min(all.size(), fewest_in_reference);
  const Samples& used = statistics.reference ? reference : all;
  statistics.used = static_cast<int>(used.size());
  add_interval(statistics, used, precision_targets);

  Summary summary{.row = series.first};
  Row& row = summary.row;
  row.thread_seconds.clear();  // the first sample's
  row.thread_waiting.clear();
  for (const FigureInfo& facts : figures) {
    if (facts.passes != PassCombination::median) continue;
    std::vector<double> values = values_of(used, facts.figure);
    if (!values.empty() || row.has(facts.figure)) {
      row[facts.figure] =
          values.empty() ? std::numeric_limits<double>::quiet_NaN() : median_of(std::move(values));
    }
  }
  row.slowest = most_often_slowest(used);
  row.arrivals.late_rank = most_often_named(used, &Arrivals::late_rank, false);
  row.arrivals.last_out_rank = most_often_named(used, &Arrivals::last_out_rank, true);
  derive_figures(row, table, bytes, in_flight);
  row.evidence = series.first.evidence ? std::optional(series.evidence) : std::nullopt;
  row.passes = std::move(statistics);
  std::vector<double> repetitions;
  for (const RowSample* sample : used) repetitions.push_back(static_cast<double>(sample->repetitions));
  summary.repetitions = std::llround(median_of(std::move(repetitions)));
  return summary;
}

std::vector<SampleStatistics::State> modes_of(const Table& table, const RowSeries& series,
                                              const SampleStatistics& statistics) {
  const Figure first_target = *table.format().precision_targets.begin();
  std::vector<double> times;
  for (const RowSample& sample : series.samples) {
    const bool used = !statistics.reference || sample.state == 0;
    if (used && sample.figures.has(first_target)) times.push_back(sample.figures[first_target]);
  }
  std::vector<SampleStatistics::State> modes;
  if (std::ranges::any_of(times, [](double time) { return !(time > 0); })) return modes;
  constexpr std::size_t fitted = 200;
  const MachineStates machine = find_states(times, fitted);
  for (std::size_t k = 0; k < machine.states.size() && machine.states.size() > 1; ++k) {
    const auto samples = static_cast<int>(std::ranges::count(machine.state_by_probe, static_cast<int>(k)));
    modes.push_back(
        {.level = machine.states[k].level, .samples = samples, .median = machine.states[k].level});
  }
  return modes;
}

bool is_within(const SampleStatistics& statistics, double precision) {
  return statistics.half_width && *statistics.half_width <= precision;
}

}  // namespace openimb
