#include "report/catalog.h"

#include <optional>

#include "report/json_writer.h"

namespace openimb {

namespace {

// Returns how many messages Mbytes/sec counts per reported time, or nothing if the table has no such column.
std::optional<int> messages_per_process(const Spec& spec) {
  if (spec.table->rates != Rates::per_process || spec.kind == Kind::multiple_transfer || spec.uses_files())
    return std::nullopt;
  return spec.messages_per_process;
}

void write_benchmark(JsonWriter& json, const Spec& spec) {
  json.field("name", spec.name);
  json.field("kind", name_of(spec.kind));
  json.field("default", spec.in_default_list);
  json.field("overlaps", spec.overlaps());
  json.field("reduces", spec.reduction);
  json.field("min_processes",
             spec.kind == Kind::single_transfer && !spec.uses_files() ? 2 : spec.min_processes);
  json.field("turnover", messages_per_process(spec));
  json.field("unavailable",
             spec.unavailable.empty() ? std::nullopt : std::optional<std::string_view>(spec.unavailable));
}

}  // namespace

std::string catalog_json(std::span<const ComponentList> components, std::string_view version) {
  JsonWriter json;
  json.object([&] {
    json.field("schema", "openimb-benchmarks/1");
    json.field("version", version);
    json.array_of_objects("components", components, [&](const ComponentList& component) {
      json.field("name", component.facts.name);
      json.field("title", component.facts.title);
      json.field("uses_files", component.facts.uses_files);
      json.array_of_objects("benchmarks", component.benchmarks,
                            [&](const Spec& spec) { write_benchmark(json, spec); });
    });
  });
  return std::move(json).line();
}

}  // namespace openimb
