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

/// The text at the right of a column. One that fills the column or is longer has a blank before it, so that
/// it does not run together with the cell before.
std::string padded(const std::string& text);
std::string whole(std::int64_t number);  ///< padded
std::string decimals(double number);     ///< padded, with two of them

/// Group comes first with -multi 1, the interval's half width last in passes, behind it defects with -check.
/// In a labeled table cells are not padded and have no heads, and the group stands behind the figures.
std::vector<Cell> cells_of(const Table& table, const Measurement& measurement, const Row& row,
                           double bytes_per_megabyte);

/// "4(x4)(bytes)": what a labeled row begins with.
std::string labeled_length_of(const Table& table, std::int64_t bytes);

}  // namespace openimb
