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

/// Right-aligns text in a column. A text as wide as the column or wider gets a blank in front, which
/// separates it from the cell before.
std::string padded(const std::string& text);
std::string integer_cell(std::int64_t number);  ///< padded
std::string decimal_cell(double number);        ///< padded, with two decimals

/// Returns the cells of a row. With -multi 1 the group comes first. The half width of the interval (in
/// passes) and the defects (with -check) follow the figures. In a labeled table cells are not padded and have
/// no heads, and the group follows the figures.
std::vector<Cell> cells_of(const Table& table, const Measurement& measurement, const Row& row,
                           double bytes_per_megabyte);

/// The beginning of a labeled row: "4(x4)(bytes)".
std::string labeled_length_of(const Table& table, std::int64_t bytes);

}  // namespace openimb
