#include "report/records.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "report/failure_text.h"
#include "report/format.h"
#include "report/json_writer.h"
#include "report/run_record.h"
#include "report/write_record.h"

namespace openimb {

namespace {

std::optional<const char*> mode_of(Transfers transfers) {
  if (transfers == Transfers::unmarked) return std::nullopt;
  return transfers == Transfers::aggregate ? "aggregate" : "non_aggregate";
}

// `group`: the group of the record; -1: all groups.
void write_point(JsonWriter& json, const Table& table, int group) {
  const Grouping& grouping = table.grouping;
  json.field("benchmark", table.spec.name);
  json.field("kind", name_of(table.spec.kind));
  json.field("mode", mode_of(table.transfers));
  if (!table.variant.empty()) json.field("variant", table.variant);
  json.field("multi", name_of(table.multi));
  json.field("processes", grouping.processes);
  json.field("threads", grouping.threads);
  json.field("group_count", grouping.group_count());
  json.field("group", group < 0 ? std::nullopt : std::optional(group));
  // Without a map, one group has the ranks 0, 1, 2, ..., which follow from `processes`.
  if (grouping.groups.empty() || (!grouping.map && grouping.group_count() == 1)) return;
  const std::span<const std::vector<int>> groups = grouping.groups;
  json.field("groups", group < 0 ? groups : groups.subspan(static_cast<std::size_t>(group), 1));
}

/// The ranks' hosts, and the interfaces whose bytes each rank read.
struct Readers {
  std::span<const RankPlace> ranks;
  std::span<const std::vector<std::string>> interfaces;
};

// A counter without an entry was unknown or zero on all ranks.
void write_evidence(JsonWriter& json, const Evidence& evidence, const Readers& readers) {
  json.object("evidence", [&] {
    for (const SummedCounter& summed : summed_counters) {
      const Evidence::Total& total = evidence.totals[index_of(summed.counter)];
      if (total.rank < 0) continue;
      json.object(summed.name, [&] {
        json.field("sum", significant(total.sum));
        json.field("most", significant(total.most));
        json.field("rank", total.rank);
      });
    }
    if (!evidence.moved.empty()) json.field("moved_ranks", evidence.moved);
    if (evidence.interfaces.empty()) return;
    json.array_of_objects("interfaces", evidence.interfaces, [&](const InterfaceBytes& bytes) {
      const auto rank = static_cast<std::size_t>(bytes.rank);
      json.field("host", readers.ranks[rank].host);
      json.field("name", readers.interfaces[rank][bytes.interface]);
      json.field("sent_bytes", bytes.sent);
      json.field("received_bytes", bytes.received);
    });
  });
}

template <class Number>
void write_slowest(JsonWriter& json, const Table& table, const Row& row, Number number) {
  json.field("slowest_rank", row.slowest.rank);
  if (table.timed_threads() > 1) json.field("slowest_thread", row.slowest.thread);
  const auto by_thread = [&](const char* name, std::vector<double> seconds) {
    std::ranges::transform(seconds, seconds.begin(), number);
    if (!seconds.empty()) json.field(name, seconds);
  };
  by_thread("time_of_threads_seconds", row.thread_seconds);
  by_thread("time_waiting_of_threads_seconds", row.thread_waiting);
}

template <class Number>
void write_figures(JsonWriter& json, const Table& table, const Row& row, Number number) {
  for (const FigureInfo& facts : figures) {
    const bool has = facts.presence == FigureInfo::always || row.has(facts.figure);
    if (has) json.field(facts.name, number(row[facts.figure]));
    if (facts.figure == Figure::time_avg) write_slowest(json, table, row, number);
  }
}

void write_passes(JsonWriter& json, const SampleStatistics& statistics) {
  json.object("passes", [&] {
    json.field("samples", statistics.samples);
    json.field("used", statistics.used);
    json.field("interval_seconds", statistics.interval ? std::optional(std::array{statistics.interval->low,
                                                                                  statistics.interval->high})
                                                       : std::nullopt);
    json.field("half_width", statistics.half_width);
    json.field("effective_samples", statistics.effective);
    json.field("shortfall", name_of(statistics.shortfall));
    json.field("reference_state", statistics.reference);
    json.field("between_states", statistics.between_states);
    json.array_of_objects("states", statistics.states, [&](const SampleStatistics::State& state) {
      json.field("probe_seconds", state.level);
      json.field("samples", state.samples);
      json.field("time_median_seconds", state.samples > 0 ? std::optional(state.median) : std::nullopt);
    });
    if (statistics.modes.empty()) return;
    json.array_of_objects("levels", statistics.modes, [&](const SampleStatistics::State& state) {
      json.field("time_seconds", state.level);
      json.field("samples", state.samples);
    });
  });
}

std::optional<int> row_number(const Measurement& measurement, const Row& row) {
  if (!measurement.first_row) return std::nullopt;
  return *measurement.first_row + std::max(0, row.group);
}

std::string result_record(const Table& table, const Measurement& measurement, const Row& row,
                          const Readers& readers) {
  return record("result", [&](JsonWriter& json) {
    json.field_if_any("row", row_number(measurement, row));
    write_point(json, table, row.group);
    // The other benchmarks use the -window of the run.
    if (const auto kind = table.spec.one_sided.window) json.field("window_kind", name_of(*kind));
    json.field_if_any("in_flight", measurement.fewer_in_flight);
    json.field("bytes", measurement.bytes);
    json.field("repetitions", measurement.repetitions);
    write_figures(json, table, row, [](double number) { return number; });
    json.field_if_any("late_rank", row.arrivals.late_rank);
    json.field_if_any("last_out_rank", row.arrivals.last_out_rank);
    if (row.arrivals.given_up) json.field("given_up", true);
    json.field_if_any("defects", row.defects);
    if (!row.hints.empty()) {
      json.object("hints", [&] {
        for (const auto& [key, value] : row.hints) json.field(key, value);
      });
    }
    if (row.passes) write_passes(json, *row.passes);
    if (row.evidence) write_evidence(json, *row.evidence, readers);
    if (!row.tail) return;
    json.object("quantiles", [&] {
      for (std::size_t i = 0; i < row.tail->size(); ++i) json.field(tail_names[i], (*row.tail)[i]);
    });
  });
}

// Writes what all samples of a row have in common, once per row.
std::string row_record(const Table& table, const Measurement& measurement, const Row& row) {
  return record("row", [&](JsonWriter& json) {
    json.field_if_any("row", row_number(measurement, row));
    write_point(json, table, row.group);
    json.field_if_any("in_flight", measurement.fewer_in_flight);
    json.field("bytes", measurement.bytes);
  });
}

std::string sample_record(const Table& table, const PassSample& sample, const Row& row,
                          const PassSample::Probes& probes, const Readers& readers) {
  return record("sample", [&](JsonWriter& json) {
    json.field_if_any("row", row_number(sample.measurement, row));
    json.field("pass", sample.pass);
    json.field("at_seconds", significant(sample.at, 9));
    json.field("repetitions", sample.measurement.repetitions);
    write_figures(json, table, row, [](double number) { return significant(number); });
    json.field_if_any("defects", row.defects);
    json.field("probe_before_seconds", significant(probes.before));
    json.field("probe_after_seconds", significant(probes.after));
    if (row.evidence) write_evidence(json, *row.evidence, readers);
  });
}

void write_place(JsonWriter& json, const PairPlace& place) {
  json.field("pass", place.pass);
  json.field("round", place.round);
  json.field("a", place.pair.a);
  json.field("b", place.pair.b);
}

std::string pair_record(const Table& table, const PairSample& sample, const Readers& readers) {
  return record("pair", [&](JsonWriter& json) {
    json.field("benchmark", table.spec.name);
    json.field("bytes", sample.bytes);
    write_place(json, sample.place);
    json.field("repetitions", sample.repetitions);
    json.field("time_seconds", significant(sample.seconds));
    json.field("time_a_seconds", significant(sample.seconds_of_a));
    json.field("time_b_seconds", significant(sample.seconds_of_b));
    json.field("at_seconds", significant(sample.at, 9));
    json.field_if_any("defects", sample.defects);
    if (sample.evidence) write_evidence(json, *sample.evidence, readers);
  });
}

std::string failure_record(const Table& table, const Failure& failure) {
  return record("failure", [&](JsonWriter& json) {
    write_point(json, table, -1);
    json.field("bytes", is_about_a_length(failure.cause) ? std::optional(failure.bytes) : std::nullopt);
    if (failure.pair) write_place(json, *failure.pair);
    json.field("cause", name_of(failure.cause));
    if (failure.needed_bytes > 0) json.field("needed_bytes", failure.needed_bytes);
    if (failure.cause == Failure::Cause::no_space) json.field("free_bytes", failure.free_bytes);
    if (failure.cause == Failure::Cause::time_out) json.field("seconds_per_repetition", failure.seconds);
    json.field("detail", failure.detail);
    json.field("help", advice_for(failure.cause));
  });
}

}  // namespace

RecordReporter::RecordReporter(std::FILE* out, const std::string& path, OptionsInForce options,
                               const LineFile& file)
    : out_(out, path, file), options_(std::move(options)) {}

void RecordReporter::begin(const RunFacts& facts, const Options&) {
  ranks_ = facts.ranks;
  interfaces_ = facts.interfaces;
  out_.set_program(executable_of(facts.component));
  out_.write(run_record(facts, options_));
}

void RecordReporter::row(const Table& table, const Measurement& measurement) {
  std::string lines;
  for (const Row& row : measurement.rows) {
    lines += result_record(table, measurement, row, {ranks_, interfaces_});
  }
  out_.write(lines);
}

void RecordReporter::sample(const Table& table, const PassSample& sample) {
  std::string lines;
  for (std::size_t i = 0; i < sample.measurement.rows.size(); ++i) {
    const Row& row = sample.measurement.rows[i];
    const bool new_row = announced_.insert(*row_number(sample.measurement, row)).second;
    if (new_row) lines += row_record(table, sample.measurement, row);
    lines += sample_record(table, sample, row, sample.probes[i], {ranks_, interfaces_});
  }
  out_.write(lines);
}

void RecordReporter::pairs(const Table& table, std::span<const PairSample> samples) {
  std::string lines;
  for (const PairSample& sample : samples) lines += pair_record(table, sample, {ranks_, interfaces_});
  out_.write(lines);
}

void RecordReporter::failure(const Table& table, const Failure& failure) {
  out_.write(failure_record(table, failure));
}

void RecordReporter::end(const Ending& ending) { out_.write(end_record(ending)); }

std::string end_record(const Ending& ending) {
  return record("end", [&](JsonWriter& json) {
    json.field("state", name_of(ending.state));
    json.field("reason", null_if_empty(ending.reason));
    json.field("measured", ending.measured);
    json.field("failed", ending.failed);
    json.field("defects", ending.defects);
    json.field_if_any("at_seconds", ending.at);
    if (ending.passes == 0) return;
    json.field("passes", ending.passes);
    json.field("probes", ending.probes);
    json.field("seconds", ending.seconds);
    json.field("measuring_seconds", ending.measuring_seconds);
    json.field("observing_seconds", ending.observing_seconds);
  });
}

}  // namespace openimb
