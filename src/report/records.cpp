#include "report/records.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "report/catalogue.h"
#include "report/format.h"
#include "report/json_writer.h"

namespace openimb {

namespace {

constexpr const char* schema = "openimb-record/1";

constexpr const char* name_of(Multi multi) {
  constexpr const char* names[] = {"off", "summary", "each_group"};
  return names[static_cast<int>(multi)];
}
std::optional<const char*> name_of(Transfers transfers) {
  if (transfers == Transfers::unmarked) return std::nullopt;
  return transfers == Transfers::aggregate ? "aggregate" : "non_aggregate";
}
constexpr const char* name_of(Failure::Cause cause) {
  constexpr const char* names[] = {"out_of_memory", "int_overflow", "time_out", "invalid_processes",
                                   "unavailable",   "no_space",     "io_error", "over_budget"};
  return names[static_cast<int>(cause)];
}
constexpr const char* name_of(Ending::State state) {
  constexpr const char* names[] = {"complete", "interrupted", "aborted"};
  return names[static_cast<int>(state)];
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

template <class Value, class Fill>
void write_or_null(JsonWriter& json, const char* name, const std::optional<Value>& value, Fill fill) {
  if (!value) return json.field(name, std::optional<int>());
  json.object(name, [&] { fill(*value); });
}

template <class Fill>
std::string record(const char* type, Fill fill) {
  JsonWriter json;
  json.object([&] {
    json.field("record", type);
    fill(json);
  });
  return std::move(json).line();
}

void write_element(JsonWriter& json, const char* name, const Element& element) {
  const auto& contiguity =
      *std::ranges::find(contiguity_names, element.contiguity, &ContiguityName::contiguity);
  json.object(name, [&] {
    json.field("type", describe(element.type).option);
    json.field("contiguity", contiguity.option);
  });
}

void write_settings(JsonWriter& json, const Settings& settings) {
  json.object("settings", [&] {
    json.field("min_message_log", settings.min_message_log);
    json.field("max_message_log", settings.max_message_log);
    json.field("iteration_policy", openimb::name_of(settings.policy));
    json.field("repetitions", settings.repetitions);
    json.field("non_aggregate_repetitions", settings.non_aggregate_repetitions);
    json.field("overall_volume_bytes", settings.overall_volume);
    json.field("seconds_per_sample", settings.seconds_per_sample);
    json.field("barriers", settings.barriers);
    json.field("warm_up_repetitions", settings.warm_up_repetitions);
    json.field("target_cpu_seconds", settings.target_cpu_seconds);
    json.field("max_memory_bytes", settings.max_memory);
    json.field("cache_size_bytes", settings.cache_size);
    json.field("cache_line_bytes", settings.cache_line);
  });
}

// In force, not as asked for: what was left open is filled in.
void write_options(JsonWriter& json, const Options& options) {
  json.object("options", [&] {
    json.field("standard_mode", options.settings == options.standard.settings);
    write_settings(json, options.settings);
    json.field("lengths_bytes", options.lengths.empty()
                                    ? std::nullopt
                                    : std::optional<std::span<const std::int64_t>>(options.lengths));
    json.field("zero_size", options.zero_size);
    json.field("min_processes", options.min_processes.value_or(options.standard.min_processes));
    json.field("multi", name_of(options.multi));
    write_or_null(json, "map", options.map, [&](const Map& map) {
      json.field("rows", map.rows);
      json.field("columns", map.columns);
    });
    write_element(json, "data", options.data);
    write_element(json, "reduction", options.reduction);
    json.field("thread_level", openimb::name_of(options.thread_level));
    json.field("warm_up", options.warm_up);
    json.field("root_shift", options.root_shift);
    json.field("synchronise_each", options.synchronize_each);
    json.field("own_barrier", options.own_barrier);
    json.field("message_pause", options.message_pause);
    json.field("window", options.in_flight);
    json.field("progress", options.progress);
    json.field("window_kind", openimb::name_of(options.window_kind));
    json.field("aggregate_mode", openimb::name_of(options.aggregate_mode));
    json.object("info", [&] {
      for (const auto& [key, value] : options.info) json.field(key, value);
    });
    json.field("file_sync", openimb::name_of(options.file_sync));
    json.field("reorder", options.reorder);
    json.field("parts", options.interleaving ? options.interleaving->segments : 1);
    if (options.passes) {
      json.object("passes", [&] {
        json.field("most", options.passes->most);
        json.field("precision", options.passes->precision);
        json.field("budget_seconds", options.passes->budget);
      });
    }
    json.field("check", options.check);
    json.field("every_repetition", options.every_repetition());
    json.field("show_tail", options.show_tail);
    json.field("dump_file", unless_empty(options.dump_file));
    json.field("bytes_per_megabyte", options.bytes_per_megabyte);
  });
}

void write_platform(JsonWriter& json, const RunFacts& facts) {
  json.object("mpi", [&] {
    json.field("standard", facts.mpi_version);
    json.field("library", facts.mpi_library);
    json.field("thread_level", facts.thread_level);
  });
  json.object("platform", [&] {
    json.field("machine", facts.machine);
    json.field("system", facts.system);
    json.field("release", facts.release);
    json.field("kernel", facts.kernel);
  });
  int rank = 0;
  json.array_of_objects("ranks", facts.ranks, [&](const RankPlace& place) {
    json.field("rank", rank++);
    json.field("host", place.host);
    json.field("cpus", unless_empty(place.cpus));
    const std::size_t index = static_cast<std::size_t>(rank) - 1;
    if (index < facts.interfaces.size() && !facts.interfaces[index].empty()) {
      json.field("interfaces", facts.interfaces[index]);
    }
  });
  json.object("clock", [&] {
    json.field("source", facts.clock);
    json.field("resolution_seconds", facts.clock_resolution);
  });
  json.object("build", [&] {
    json.field("compiler", facts.compiler);
    json.field("flags", facts.build_flags);
  });
  json.object("environment", [&] {
    for (const auto& [name, value] : facts.environment) json.field(name, value);
  });
}

// `group`: the one the record is about; -1: all of them.
void write_point(JsonWriter& json, const Table& table, int group) {
  const Layout& layout = table.layout;
  json.field("benchmark", table.spec.name);
  json.field("kind", openimb::name_of(table.spec.kind));
  json.field("mode", name_of(table.transfers));
  json.field("multi", name_of(table.multi));
  json.field("processes", layout.processes);
  json.field("threads", layout.threads);
  json.field("group_count", layout.group_count());
  json.field("group", group < 0 ? std::nullopt : std::optional(group));
  // Without a map and with one group they are 0, 1, 2, ...: said by `processes`.
  if (layout.groups.empty() || (!layout.map && layout.group_count() == 1)) return;
  const std::span<const std::vector<int>> groups = layout.groups;
  json.field("groups", group < 0 ? groups : groups.subspan(static_cast<std::size_t>(group), 1));
}

/// Who read the bytes of which interfaces.
struct Readers {
  std::span<const RankPlace> ranks;
  std::span<const std::vector<std::string>> interfaces;
};

// What is not there was not counted, or never above zero.
void write_evidence(JsonWriter& json, const Evidence& evidence, const Readers& readers) {
  json.object("evidence", [&] {
    for (std::size_t i = 0; i < summed_counters; ++i) {
      const Evidence::Total& total = evidence.totals[i];
      if (total.rank < 0) continue;
      json.object(counter_names[i], [&] {
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
void write_times(JsonWriter& json, const Table& table, const Row& row, Number number) {
  const auto if_any = [&](const char* name, const std::optional<double>& value) {
    if (value) json.field(name, number(*value));
  };
  json.field("time_min_seconds", number(row.t_min));
  json.field("time_max_seconds", number(row.t_max));
  json.field("time_avg_seconds", number(row.t_avg));
  json.field("slowest_rank", row.slowest_rank);
  if (table.layout.threads > 1) json.field("slowest_thread", row.slowest_thread);
  if_any("time_overlapped_seconds", row.t_overlap);
  if_any("time_pure_seconds", row.t_pure);
  if_any("time_cpu_seconds", row.t_cpu);
  if_any("overlap_percent", row.overlap_percent);
}

const char* name_of(PassesFigure::Shortfall shortfall) {
  constexpr const char* names[] = {"none", "budget", "passes", "interrupted"};
  return names[static_cast<int>(shortfall)];
}

void write_levels(JsonWriter& json, const char* name, const char* level,
                  const std::vector<PassesFigure::State>& levels) {
  json.array_of_objects(name, levels, [&](const PassesFigure::State& one) {
    json.field(level, one.level);
    json.field("samples", one.samples);
    if (std::string_view(level) == "probe_seconds") {
      json.field("time_median_seconds", one.samples > 0 ? std::optional(one.median) : std::nullopt);
    }
  });
}

void write_passes(JsonWriter& json, const PassesFigure& figure) {
  json.object("passes", [&] {
    json.field("samples", figure.samples);
    json.field("used", figure.used);
    json.field("interval_seconds",
               figure.interval ? std::optional(std::array{figure.interval->low, figure.interval->high})
                               : std::nullopt);
    json.field("half_width", figure.half_width);
    json.field("effective_samples", figure.effective);
    json.field("shortfall", name_of(figure.shortfall));
    json.field("reference_state", figure.reference);
    json.field("between_states", figure.between_states);
    write_levels(json, "states", "probe_seconds", figure.states);
    if (!figure.modes.empty()) write_levels(json, "levels", "time_seconds", figure.modes);
  });
}

double as_it_is(double number) { return number; }

std::optional<int> number_of(const Measurement& measurement, const Row& row) {
  if (!measurement.first_row) return std::nullopt;
  return *measurement.first_row + std::max(0, row.group);
}

std::string result_record(const Table& table, const Measurement& measurement, const Row& row,
                          const Readers& readers) {
  return record("result", [&](JsonWriter& json) {
    json.field_if_any("row", number_of(measurement, row));
    write_point(json, table, row.group);
    json.field("bytes", measurement.bytes);
    json.field("repetitions", measurement.repetitions);
    write_times(json, table, row, as_it_is);
    json.field_if_any("load_drift", row.load_drift);
    json.field_if_any("bytes_per_second", row.bytes_per_second);
    json.field_if_any("messages_per_second", row.messages_per_second);
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

// What the samples of a row have in common, once.
std::string row_record(const Table& table, const Measurement& measurement, const Row& row) {
  return record("row", [&](JsonWriter& json) {
    json.field_if_any("row", number_of(measurement, row));
    write_point(json, table, row.group);
    json.field("bytes", measurement.bytes);
  });
}

std::string sample_record(const Table& table, const PassSample& sample, const Row& row,
                          const PassSample::Probes& probes, const Readers& readers) {
  return record("sample", [&](JsonWriter& json) {
    json.field_if_any("row", number_of(sample.measurement, row));
    json.field("pass", sample.pass);
    json.field("at_seconds", significant(sample.at, 9));
    json.field("repetitions", sample.measurement.repetitions);
    write_times(json, table, row, [](double number) { return significant(number); });
    if (row.bytes_per_second) json.field("bytes_per_second", significant(*row.bytes_per_second));
    if (row.messages_per_second) json.field("messages_per_second", significant(*row.messages_per_second));
    json.field_if_any("defects", row.defects);
    json.field("probe_before_seconds", significant(probes.before));
    json.field("probe_after_seconds", significant(probes.after));
    if (row.evidence) write_evidence(json, *row.evidence, readers);
  });
}

bool is_about_a_length(Failure::Cause cause) {
  return cause != Failure::Cause::invalid_processes && cause != Failure::Cause::unavailable;
}

const char* help_for(Failure::Cause cause) {
  switch (cause) {
    case Failure::Cause::out_of_memory:
      return "give more memory with -mem, or run shorter messages (-msglog) or fewer processes";
    case Failure::Cause::int_overflow:
      return "use an MPI with large-count calls (MPI 4.0), or run shorter messages (-msglog) or fewer "
             "processes";
    case Failure::Cause::time_out:
      return "give more time with -time, or run shorter messages (-msglog)";
    case Failure::Cause::invalid_processes:
      return "launch more processes";
    case Failure::Cause::no_space:
      return "choose a folder with more room (-file), or run shorter lengths (-msglog) or fewer repetitions "
             "(-iter)";
    case Failure::Cause::io_error:
      return "look at the folder (-file): its room, quota, limits and permissions";
    case Failure::Cause::over_budget:
      return "give more seconds with -budget, or run fewer rows";
    case Failure::Cause::unavailable:
      return "use an MPI that offers the calls, or leave the benchmark out";
  }
  return "";
}

std::string failure_record(const Table& table, const Failure& failure) {
  return record("failure", [&](JsonWriter& json) {
    write_point(json, table, -1);
    json.field("bytes", is_about_a_length(failure.cause) ? std::optional(failure.bytes) : std::nullopt);
    json.field("cause", name_of(failure.cause));
    if (failure.needed_bytes > 0) json.field("needed_bytes", failure.needed_bytes);
    if (failure.cause == Failure::Cause::no_space) json.field("free_bytes", failure.free_bytes);
    if (failure.cause == Failure::Cause::time_out) json.field("seconds_per_repetition", failure.seconds);
    json.field("detail", failure.detail);
    json.field("help", help_for(failure.cause));
  });
}

}  // namespace

RecordReporter::RecordReporter(std::FILE* out, const std::string& path, const LineFile& file)
    : out_(out, path, file) {}

void RecordReporter::begin(const RunFacts& facts, const Options& options) {
  ranks_ = facts.ranks;
  interfaces_ = facts.interfaces;
  out_.set_program("IMB-" + facts.component);
  out_.write(record("run", [&](JsonWriter& json) {
    json.field("schema", schema);
    json.field("program", "OpenIMB");
    json.field("version", facts.version);
    json.field("component", facts.component);
    json.field("date", facts.date_iso);
    json.field("command_line", facts.command_line);
    json.field("benchmarks", facts.benchmarks);
    write_options(json, options);
    write_or_null(json, "off_cache", facts.off_cache, [&](const OffCache& cache) {
      json.field("cache_size_bytes", cache.cache_size);
      json.field("cache_line_bytes", cache.cache_line);
    });
    if (!facts.file.empty()) {
      json.object("file", [&] {
        json.field("path", facts.file);
        json.field("file_system", unless_empty(facts.file_system));
      });
    }
    json.field_if_any("load_flops_per_second", facts.load_flops);
    write_platform(json, facts);
  }));
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
    const bool new_row = announced_.insert(*number_of(sample.measurement, row)).second;
    if (new_row) lines += row_record(table, sample.measurement, row);
    lines += sample_record(table, sample, row, sample.probes[i], {ranks_, interfaces_});
  }
  out_.write(lines);
}

void RecordReporter::failure(const Table& table, const Failure& failure) {
  out_.write(failure_record(table, failure));
}

void RecordReporter::end(const Ending& ending) { out_.write(end_record(ending)); }

std::string end_record(const Ending& ending) {
  return record("end", [&](JsonWriter& json) {
    json.field("state", name_of(ending.state));
    json.field("reason", unless_empty(ending.reason));
    json.field("measured", ending.measured);
    json.field("failed", ending.failed);
    json.field("defects", ending.defects);
    if (ending.passes == 0) return;
    json.field("passes", ending.passes);
    json.field("seconds", ending.seconds);
    json.field("measuring_seconds", ending.measuring_seconds);
  });
}

}  // namespace openimb
