#include "report/run_record.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "report/write_record.h"

namespace openimb {

namespace {

constexpr const char* schema = "openimb-record/1";

void write_element(JsonWriter& json, const char* name, const Element& element) {
  json.object(name, [&] {
    json.field("type", name_of(element.type));
    json.field("contiguity", name_of(element.contiguity));
  });
}

void write_settings(JsonWriter& json, const Settings& settings) {
  json.object("settings", [&] {
    json.field("min_message_log", settings.min_message_log);
    json.field("max_message_log", settings.max_message_log);
    json.field("iteration_policy", name_of(settings.policy));
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

void write_passes(JsonWriter& json, const Passes& passes) {
  json.object("passes", [&] {
    json.field("most", passes.most);
    json.field("precision", passes.precision);
    json.field("budget_seconds", passes.budget);
  });
}

void write_pairs(JsonWriter& json, const PairOptions& pairs) {
  json.object("pairs", [&] {
    json.field("seed", static_cast<std::int64_t>(pairs.seed));
    json.field("halo_dimensions", pairs.halo.dimensions);
    json.field("halo_corners", pairs.halo.corners);
    json.field("most_pairs", pairs.most_pairs);
  });
}

void write_fabric(JsonWriter& json, const FabricOptions& fabric) {
  json.object("fabric", [&] {
    json.field("endpoint", name_of(fabric.endpoint));
    json.field("seed", static_cast<std::int64_t>(fabric.seed));
    json.object("rounds", [&] {
      json.field("kind", name_of(fabric.rounds));
      json.field("count", RoundPlan(fabric, static_cast<int>(fabric.ranks.size())).count());
    });
    json.field("serial", fabric.serial);
    json.field("timeout_seconds", fabric.timeout_seconds);
  });
}

void write_topology(JsonWriter& json, const Topology& topology) {
  json.object("topology", [&] {
    json.field("kind", name_of(topology.kind));
    if (topology.kind == TopologyKind::random) {
      json.field("degree", topology.degree);
      json.field("seed", static_cast<std::int64_t>(topology.seed));
      return;
    }
    json.field("dimensions", topology.dimensions);
    if (topology.has_extents()) {
      json.field("extents", std::span(topology.extents).first(static_cast<std::size_t>(topology.dimensions)));
    }
  });
}

void write_threads(JsonWriter& json, const Options& options) {
  const Threads& threads = options.threads;
  if (!options.standard.threaded && threads.count == 1) return;
  json.object("threads", [&] {
    json.field("count", threads.count);
    json.field("communicators", name_of(threads.comm));
    json.field("memory", name_of(threads.memory));
    json.field("alignment_bytes", threads.alignment);
    json.field("pinned", threads.pinned);
    json.field("stride", options.stride);
    json.field("meet", options.thread_barrier);
  });
  if (options.standard.threaded) json.field("counts", options.counts);
}

void write_memory(JsonWriter& json, const MemoryChoice& memory) {
  if (!memory.needs_gpu()) return;
  json.object("memory", [&] {
    json.field("send", name_of(memory.send));
    json.field("receive", name_of(memory.receive));
    json.field("load", name_of(memory.load));
  });
}

void write_optional_ones(JsonWriter& json, const Options& options) {
  write_memory(json, options.memory);
  if (options.passes) write_passes(json, *options.passes);
  if (options.pairs) write_pairs(json, *options.pairs);
  if (options.fabric) write_fabric(json, *options.fabric);
  if (options.topology) write_topology(json, *options.topology);
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
    json.field("thread_level", name_of(options.thread_level));
    json.field("warm_up", options.warm_up);
    json.field("root_shift", options.root_shift);
    json.field("in_place", options.in_place);
    json.field("synchronise_each", options.synchronize_each);
    json.field("own_barrier", options.own_barrier);
    json.field("message_pause", options.message_pause);
    if (options.pause_seconds > 0) json.field("pause_seconds", options.pause_seconds);
    json.field("window", options.in_flight);
    json.field("partitions", options.partitions);
    json.field("progress", options.progress);
    json.field("window_kind", name_of(options.window_kind));
    json.field("sync_mode", name_of(options.sync_mode));
    json.field("send_mode", name_of(options.send_mode));
    json.field("layout", name_of(options.layout));
    json.field("packing", name_of(options.packing));
    json.field("aggregate_mode", name_of(options.aggregate_mode));
    json.object("info", [&] {
      for (const auto& [key, value] : options.info) json.field(key, value);
    });
    json.field("file_sync", name_of(options.file_sync));
    json.field("reorder", options.reorder);
    write_threads(json, options);
    json.field("parts", options.interleaving ? options.interleaving->segments : 1);
    write_optional_ones(json, options);
    json.field("check", options.check);
    json.field("every_repetition", options.every_repetition());
    json.field("show_tail", options.show_tail);
    json.field("dump_file", unless_empty(options.dump_file));
    json.field("bytes_per_megabyte", options.bytes_per_megabyte);
  });
}

void write_gpus(JsonWriter& json, const RunFacts& facts) {
  if (facts.gpus.empty()) return;
  json.array_of_objects("gpus", facts.gpus, [&](const GpuFacts& gpu) {
    json.field("host", gpu.host);
    json.field("index", gpu.index);
    json.field("name", gpu.name);
    json.field("api", gpu.api);
    json.field("driver", gpu.driver);
    json.field("bus_address", gpu.bus_address);
    json.field("memory_bytes", gpu.memory_bytes);
    json.field("l2_bytes", gpu.l2_bytes);
    json.field("ranks", gpu.ranks);
  });
  if (!facts.gpu_support) return;
  json.object("gpu_support", [&] {
    json.field("answer", name_of(facts.gpu_support->answer));
    json.field("source", facts.gpu_support->source);
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
  if (!facts.endpoints.empty()) {
    json.array_of_objects("endpoints", facts.endpoints, [&](const EndpointFacts& endpoint) {
      json.field("rank", endpoint.rank);
      json.field("host", endpoint.host);
      json.field("cpus", endpoint.cpus);
      json.field("numa", endpoint.numa);
      json.field("socket", endpoint.socket);
    });
  }
  json.object("clock", [&] {
    json.field("source", facts.clock);
    json.field("resolution_seconds", facts.clock_resolution);
  });
  json.object("build", [&] {
    json.field("compiler", facts.compiler);
    json.field("flags", facts.build_flags);
    if (!facts.interface.empty()) json.field("interface", facts.interface);
  });
  json.object("environment", [&] {
    for (const auto& [name, value] : facts.environment) json.field(name, value);
  });
}

}  // namespace

std::string run_record(const RunFacts& facts, const Options& options) {
  return record("run", [&](JsonWriter& json) {
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
    write_gpus(json, facts);
    if (!facts.startup) return;
    json.object("startup", [&] {
      json.field("first_began_seconds", facts.startup->first_began);
      json.field("last_began_seconds", facts.startup->last_began);
      json.field("init_min_seconds", facts.startup->shortest);
      json.field("init_max_seconds", facts.startup->longest);
      json.field("slowest_rank", facts.startup->slowest_rank);
    });
  });
}

}  // namespace openimb
