#include "report/run_record.h"

#include <concepts>
#include <cstddef>
#include <optional>
#include <variant>

#include "report/write_record.h"

namespace openimb {

namespace {

constexpr const char* schema = "openimb-record/2";

void write_options(JsonWriter& json, const OptionsInForce& options) {
  json.object("options", [&] {
    for (const auto& [name, value] : options) {
      std::visit(
          [&]<class Value>(const Value& typed) {
            if constexpr (std::same_as<Value, std::monostate>) {
              json.field(name, std::optional<int>());
            } else {
              json.field(name, typed);
            }
          },
          value);
    }
  });
}

void write_variants(JsonWriter& json, const RunFacts& facts) {
  if (facts.variants.empty()) return;
  const auto write_variables = [&](const char* name, const auto& variables) {
    json.object(name, [&] {
      for (const auto& [variable, value] : variables) json.field(variable, value);
    });
  };
  json.array_of_objects("variants", facts.variants, [&](const Variant& variant) {
    json.field("label", variant.label);
    write_variables("variables", variant.variables);
  });
  write_variables("variables_at_start", facts.variables_at_start);
}

void write_gpus(JsonWriter& json, const RunFacts& facts) {
  if (facts.gpus.empty()) return;
  json.array_of_objects("gpus", facts.gpus, [&](const GpuFacts& gpu) {
    json.field("host", gpu.host);
    json.field("index", gpu.index);
    json.field("name", gpu.name);
    json.field("api", driver_name(gpu.api));
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
    json.field("cpus", null_if_empty(place.cpus));
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

std::string run_record(const RunFacts& facts, const OptionsInForce& options) {
  return record("run", [&](JsonWriter& json) {
    json.field("schema", schema);
    json.field("program", "OpenIMB");
    json.field("version", facts.version);
    json.field("component", facts.component);
    json.field("date", facts.date_iso);
    json.field("command_line", facts.command_line);
    json.field("benchmarks", facts.benchmarks);
    write_options(json, options);
    write_variants(json, facts);
    write_or_null(json, "off_cache", facts.off_cache, [&](const OffCache& cache) {
      json.field("cache_size_bytes", cache.cache_size);
      json.field("cache_line_bytes", cache.cache_line);
    });
    if (!facts.file.empty()) {
      json.object("file", [&] {
        json.field("path", facts.file);
        json.field("file_system", null_if_empty(facts.file_system));
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
