// Functions that all writers of records use.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/options.h"
#include "report/json_writer.h"

namespace openimb {

inline std::optional<std::string> null_if_empty(const std::string& text) {
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

}  // namespace openimb
