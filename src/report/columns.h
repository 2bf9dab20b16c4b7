// The cells of a row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "result/measurement.h"

namespace openimb {

inline constexpr int column_width = 13;

/// A cell and the head of its column.
struct Cell {
  std::string_view head;
  std::string text;
};

/// The text, right-aligned in a column. Text that fills the column or is longer has a blank before it, which
/// separates it from the cell before.
std::string padded(const std::string& text);
std::string integer_cell(std::int64_t number);  ///< padded
std::string decimal_cell(double number);        ///< padded, with two decimals

/// With -multi 1 the group comes first. After the figures come the interval's half width (in passes) and the
/// defects (with -check). In a labeled table cells are not padded and have no heads, and the group comes
/// after the figures.
std::vector<Cell> cells_of(const Table& table, const Measurement& measurement, const Row& row,
                           double bytes_per_megabyte);

/// "4(x4)(bytes)": the beginning of a labeled row.
std::string labeled_length_of(const Table& table, std::int64_t bytes);

}  // namespace openimb
