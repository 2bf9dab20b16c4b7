// The table of figures as JSON lines, for the schema of records and for imb: tools/figures.py reads it.
#pragma once

#include <string>
#include <utility>

#include "model/figures.h"
#include "report/json_writer.h"

inline std::string figure_lines() {
  std::string lines;
  for (const openimb::FigureInfo& one : openimb::figures) {
    openimb::JsonWriter json;
    json.object([&] {
      json.field("name", one.name);
      json.field("unit", name_of(one.unit));
      json.field("passes", name_of(one.passes));
      json.field("always", one.presence == openimb::FigureInfo::always);
      json.field("head", one.head);
      json.field("meaning", one.meaning);
    });
    lines += std::move(json).line();
  }
  return lines;
}
