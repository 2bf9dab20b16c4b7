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
  const Measurement& measurement;
  const Row& row;
  double bytes_per_megabyte;
};

struct Column {
  std::string_view name;
  std::string (*cell)(const CellSource&);
};

/// Group comes first with -multi 1, the interval's half width last in passes, behind it defects with -check.
std::vector<Column> columns_of(const Table& table);

}  // namespace openimb
