// The columns of a table, as data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "result/measurement.h"

namespace openimb {

inline constexpr int column_width = 13;

/// What a cell is made from.
struct CellSource {
  const Table& table;
  const Measurement& measurement;
  const Row& row;
  double bytes_per_megabyte;
};

struct Column {
  std::string_view name;
  std::string (*cell)(const CellSource&);
};

/// The text at the right of a column. One that fills the column or is longer has a blank before it, so that
/// it does not run together with the cell before.
std::string padded(const std::string& text);

/// Group comes first with -multi 1, the interval's half width last in passes, behind it defects with -check.
/// Labeled ones are not padded, and have the group behind the figures.
std::vector<Column> columns_of(const Table& table);

/// "4(x4)(bytes)": what a labeled row begins with.
std::string labeled_length_of(const Table& table, std::int64_t bytes);

}  // namespace openimb
