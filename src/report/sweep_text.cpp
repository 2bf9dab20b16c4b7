#include "report/sweep_text.h"

#include <algorithm>
#include <cmath>

#include "plan/rounds.h"
#include "report/columns.h"
#include "report/format.h"

namespace openimb {

namespace {

constexpr std::size_t max_shown = 5;  // slow pairs per length, and failed pairs

// A logarithmic histogram has bins from a nanosecond on, each 0.1 % wide.
constexpr double shortest_seconds = 1e-9, width = 1e-3, longest_seconds = 1e6;

std::size_t bin_of(double seconds) {
  const double within = std::clamp(seconds, shortest_seconds, longest_seconds);
  return static_cast<std::size_t>(std::log(within / shortest_seconds) / width);
}

std::string rule_of(std::size_t columns) {
  return std::string("#").append(columns * column_width - 1, '-') += '\n';
}

}  // namespace

void PairTimes::add(double seconds) {
  least_ = count_ == 0 ? seconds : std::min(least_, seconds);
  most_ = count_ == 0 ? seconds : std::max(most_, seconds);
  const std::size_t index = bin_of(seconds);
  if (bins_.size() <= index) bins_.resize(index + 1);
  ++bins_[index];
  ++count_;
}

double PairTimes::median() const {
  std::int64_t below = 0;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    below += bins_[i];
    if (2 * below < count_) continue;
    const double middle = shortest_seconds * std::exp((static_cast<double>(i) + 0.5) * width);
    return std::clamp(middle, least_, most_);
  }
  return most_;
}

void SweepText::begin(const RunFacts& facts, const Options& options) {
  for (const EndpointFacts& endpoint : facts.endpoints) hosts_.push_back(endpoint.host);
  if (options.fabric) fabric_ = *options.fabric;
  bytes_per_megabyte_ = options.bytes_per_megabyte;
  in_flight_ = options.in_flight;
}

SweepText::LengthSummary& SweepText::length_summary(const Table& table, std::int64_t bytes) {
  return benchmarks_[std::string(table.spec.name)][bytes];
}

std::string SweepText::pairs(const Table& table, std::span<const PairSample> samples) {
  std::string text;
  if (fabric_.matrix && !matrix_begun_) {
    matrix_begun_ = true;
    text = "\n" + padded("pass") + padded("round") + padded("a") + padded("b") + padded("#bytes") +
           padded("#repetitions") + padded("t[usec]") + "  benchmark\n";
  }
  for (const PairSample& sample : samples) {
    LengthSummary& summary = length_summary(table, sample.bytes);
    summary.repetitions =
        summary.times.count() == 0 ? sample.repetitions : std::min(summary.repetitions, sample.repetitions);
    summary.times.add(sample.seconds);
    summary.defects += sample.defects.value_or(0);
    keep_if_slow(summary, sample);
    passes_ = std::max(passes_, sample.place.pass);
    if (!fabric_.matrix) continue;
    const PairPlace& place = sample.place;
    text += integer_cell(place.pass) + integer_cell(place.round) + integer_cell(place.pair.a) +
            integer_cell(place.pair.b) + integer_cell(sample.bytes) + integer_cell(sample.repetitions) +
            decimal_cell(sample.seconds * 1e6) + "  " + std::string(table.spec.name) + "\n";
  }
  return text;
}

void SweepText::keep_if_slow(LengthSummary& summary, const PairSample& sample) const {
  std::vector<PairSample>& worst = summary.worst;
  const auto same =
      std::ranges::find(worst, sample.place.pair, [](const PairSample& kept) { return kept.place.pair; });
  if (same != worst.end()) {
    if (same->seconds >= sample.seconds) return;
    worst.erase(same);
  }
  const auto faster =
      std::ranges::find_if(worst, [&](const PairSample& kept) { return kept.seconds < sample.seconds; });
  worst.insert(faster, sample);
  if (worst.size() > max_shown) worst.pop_back();
}

void SweepText::failure(const Table& table, const Failure& failure) {
  LengthSummary& summary = length_summary(table, failure.bytes);
  ++summary.failed;
  if (summary.failed_pairs.size() < max_shown)
    summary.failed_pairs.push_back({*failure.pair, failure.detail});
}

std::string SweepText::table(const Table& table) const {
  const std::size_t columns = table.defects ? 9 : 8;
  std::string text = "\n" + rule_of(columns) + "# Benchmarking " + std::string(table.spec.name) + "\n";
  text += formatted("# #endpoints = %d, #passes = %d\n", table.grouping.processes, passes_);
  if (table.spec.message_rate) text += formatted("# window_size = %d\n", in_flight_);
  text += rule_of(columns);
  for (const char* const head : {"#bytes", "#repetitions", "t_min[usec]", "t_median", "t_max[usec]",
                                 "Mbytes/sec", "#pairs", "#failed"}) {
    text += padded(head);
  }
  text += table.defects ? padded("defects") + "\n" : "\n";
  const auto lengths = benchmarks_.find(table.spec.name);
  if (lengths == benchmarks_.end()) return text;
  for (const auto& [bytes, summary] : lengths->second) {
    const double median = summary.times.median();
    const double rate = median > 0 ? static_cast<double>(bytes) / median / bytes_per_megabyte_ : 0;
    text += integer_cell(bytes) + integer_cell(summary.repetitions) +
            decimal_cell(summary.times.least() * 1e6) + decimal_cell(median * 1e6) +
            decimal_cell(summary.times.most() * 1e6) + decimal_cell(rate) +
            integer_cell(summary.times.count()) + integer_cell(summary.failed);
    text += table.defects ? decimal_cell(static_cast<double>(summary.defects)) + "\n" : "\n";
  }
  return text;
}

// "0-5 (n1, n6), pass 1, round 3".
std::string SweepText::name(const PairPlace& place) const {
  const auto host = [&](int endpoint) {
    const auto at = static_cast<std::size_t>(endpoint);
    return at < hosts_.size() ? hosts_[at] : std::string("?");
  };
  return formatted("%d-%d (%s, %s), pass %d, round %d", place.pair.a, place.pair.b,
                   host(place.pair.a).c_str(), host(place.pair.b).c_str(), place.pass, place.round);
}

std::string SweepText::slowest(const Table& table) const {
  const auto lengths = benchmarks_.find(table.spec.name);
  if (lengths == benchmarks_.end()) return {};
  std::string text;
  for (const auto& [bytes, summary] : lengths->second) {
    const auto length = static_cast<long long>(bytes);
    const double median = summary.times.median();
    for (const PairSample& sample : summary.worst) {
      if (sample.seconds <= median * (1 + width)) continue;  // the median is the middle of a bin
      text +=
          formatted("# slow: %lld B: %.2f usec, %.2f of the median: pair %s\n", length, sample.seconds * 1e6,
                    median > 0 ? sample.seconds / median : 0, name(sample.place).c_str());
    }
    for (const FailedPair& failed : summary.failed_pairs) {
      text += formatted("# failed: %lld B: pair %s: %s\n", length, name(failed.place).c_str(),
                        failed.detail.c_str());
    }
    const auto shown = static_cast<std::int64_t>(summary.failed_pairs.size());
    if (summary.failed > shown) {
      text += formatted("# failed: %lld B: and %s\n", length,
                        counted(summary.failed - shown, "further pair").c_str());
    }
  }
  return text;
}

std::string rounds_text(const FabricOptions& fabric) {
  const RoundPlan plan(fabric, static_cast<int>(fabric.ranks.size()));
  std::string text = counted(plan.count(), "round") + ", " + name_of(fabric.rounds);
  text += fabric.serial ? ", one pair after the other" : "";
  return text + formatted(", random order (seed %llu)", static_cast<unsigned long long>(fabric.seed));
}

}  // namespace openimb
