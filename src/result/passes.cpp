#include "result/passes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "result/interval.h"
#include "result/quantile.h"
#include "result/statistics.h"

namespace openimb {

namespace {

// Of a row: with fewer, all its samples stand for it. A median of three survives one outlier, and samples of
// another state are wrong by all that lies between the states.
constexpr std::size_t fewest_in_reference = 3;

using Samples = std::vector<const SampleFigures*>;

template <class Figure>
std::vector<double> values_of(const Samples& samples, Figure figure) {
  std::vector<double> values;
  for (const SampleFigures* sample : samples) values.push_back(figure(*sample));
  return values;
}

double median_figure(const Samples& samples, double SampleFigures::* figure) {
  return median_of(values_of(samples, [figure](const SampleFigures& one) { return one.*figure; }));
}

std::optional<double> median_figure(const Samples& samples, std::optional<double> SampleFigures::* figure) {
  if (!(samples.front()->*figure)) return std::nullopt;
  return median_of(
      values_of(samples, [figure](const SampleFigures& one) { return (one.*figure).value_or(0); }));
}

double main_time(const SampleFigures& sample) { return sample.t_overlap.value_or(sample.t_max); }

double half_width(const MedianEstimate& estimate) {
  const double wider =
      std::max(estimate.interval->high - estimate.median, estimate.median - estimate.interval->low);
  return estimate.median > 0 ? wider / estimate.median : 0;
}

void add_interval(PassesFigure& figure, const Samples& samples) {
  const MedianEstimate estimate = estimate_median(values_of(samples, main_time));
  figure.interval = estimate.interval;
  figure.effective = estimate.effective;
  if (!estimate.interval) return;
  figure.half_width = half_width(estimate);
  if (!samples.front()->t_pure) return;
  const MedianEstimate pure =
      estimate_median(values_of(samples, [](const SampleFigures& one) { return one.t_pure.value_or(0); }));
  figure.half_width =
      pure.interval ? std::optional(std::max(*figure.half_width, half_width(pure))) : std::nullopt;
}

void add_states(PassesFigure& figure, const RowSeries& series, const MachineStates& machine) {
  for (std::size_t k = 0; k < machine.states.size(); ++k) {
    Samples members;
    for (const SampleFigures& sample : series.samples) {
      if (sample.state == static_cast<int>(k)) members.push_back(&sample);
    }
    figure.states.push_back({.level = machine.states[k].level,
                             .samples = static_cast<int>(members.size()),
                             .median = members.empty() ? 0 : median_of(values_of(members, main_time))});
  }
  figure.between_states = static_cast<int>(std::ranges::count(series.samples, -1, &SampleFigures::state));
}

// The rank that was the slowest most often.
std::pair<int, int> usual_slowest(const Samples& samples) {
  std::map<std::pair<int, int>, int> times;
  for (const SampleFigures* sample : samples) ++times[{sample->slowest_rank, sample->slowest_thread}];
  return std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
}

bool known(double probe) { return std::isfinite(probe) && probe > 0; }

}  // namespace

SampleFigures figures_of(const Row& row, std::int64_t repetitions, double at,
                         const PassSample::Probes& probes) {
  return {.at = at,
          .repetitions = repetitions,
          .t_min = row.t_min,
          .t_max = row.t_max,
          .t_avg = row.t_avg,
          .t_overlap = row.t_overlap,
          .t_pure = row.t_pure,
          .t_cpu = row.t_cpu,
          .overlap_percent = row.overlap_percent,
          .slowest_rank = row.slowest_rank,
          .slowest_thread = row.slowest_thread,
          .probes = probes};
}

MachineStates assign_states(std::span<RowSeries* const> rows, std::size_t fitted) {
  std::vector<SampleFigures*> samples;
  for (RowSeries* row : rows) {
    for (SampleFigures& sample : row->samples) {
      sample.state = 0;
      if (known(sample.probes.before) && known(sample.probes.after)) samples.push_back(&sample);
    }
  }
  std::ranges::sort(samples, {}, &SampleFigures::at);
  std::vector<double> probes;
  for (const SampleFigures* sample : samples) {
    probes.push_back(sample->probes.before);
    probes.push_back(sample->probes.after);
  }
  MachineStates found = find_states(probes, fitted);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const int before = found.of_probe[2 * i], after = found.of_probe[2 * i + 1];
    samples[i]->state = before == after ? before : -1;
  }
  return found;
}

Summary summarize(const Table& table, std::int64_t bytes, int in_flight, const RowSeries& series,
                  const MachineStates& states) {
  Samples all, reference;
  for (const SampleFigures& sample : series.samples) {
    all.push_back(&sample);
    if (sample.state == 0) reference.push_back(&sample);
  }
  PassesFigure figure;
  figure.samples = static_cast<int>(all.size());
  add_states(figure, series, states);
  figure.reference = reference.size() >= std::min(all.size(), fewest_in_reference);
  const Samples& used = figure.reference ? reference : all;
  figure.used = static_cast<int>(used.size());
  add_interval(figure, used);

  Summary summary{.row = series.first};
  Row& row = summary.row;
  row.of_threads.clear();  // the first sample's
  row.waiting_of_threads.clear();
  row.t_min = median_figure(used, &SampleFigures::t_min);
  row.t_max = median_figure(used, &SampleFigures::t_max);
  row.t_avg = median_figure(used, &SampleFigures::t_avg);
  row.t_overlap = median_figure(used, &SampleFigures::t_overlap);
  row.t_pure = median_figure(used, &SampleFigures::t_pure);
  row.t_cpu = median_figure(used, &SampleFigures::t_cpu);
  row.overlap_percent = median_figure(used, &SampleFigures::overlap_percent);
  std::tie(row.slowest_rank, row.slowest_thread) = usual_slowest(used);
  add_rates(row, table, bytes, in_flight);
  row.evidence = series.first.evidence ? std::optional(series.evidence) : std::nullopt;
  row.passes = std::move(figure);
  const double middle = median_of(
      values_of(used, [](const SampleFigures& one) { return static_cast<double>(one.repetitions); }));
  summary.repetitions = std::llround(middle);
  return summary;
}

std::vector<PassesFigure::State> modes_of(const RowSeries& series, const PassesFigure& figure) {
  std::vector<double> times;
  for (const SampleFigures& sample : series.samples) {
    if (!figure.reference || sample.state == 0) times.push_back(main_time(sample));
  }
  std::vector<PassesFigure::State> modes;
  if (std::ranges::any_of(times, [](double time) { return !(time > 0); })) return modes;
  constexpr std::size_t fitted = 200;
  const MachineStates found = find_states(times, fitted);
  for (std::size_t k = 0; k < found.states.size() && found.states.size() > 1; ++k) {
    const auto samples = static_cast<int>(std::ranges::count(found.of_probe, static_cast<int>(k)));
    modes.push_back({.level = found.states[k].level, .samples = samples, .median = found.states[k].level});
  }
  return modes;
}

bool is_within(const PassesFigure& figure, double precision) {
  return figure.half_width && *figure.half_width <= precision;
}

}  // namespace openimb
