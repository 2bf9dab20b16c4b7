#include "report/columns.h"

#include <cmath>

#include "report/format.h"

namespace openimb {

namespace {

// Returns a figure in the unit of the text; 0 if the row lacks a figure that the table shows.
double text_value(const Row& row, Figure figure, double bytes_per_megabyte) {
  if (!row.has(figure) && info_of(figure).presence != FigureInfo::always) return 0;
  const Unit unit = info_of(figure).unit;
  if (unit == Unit::seconds) return row[figure] * 1e6;
  return unit == Unit::bytes_per_second ? row[figure] / bytes_per_megabyte : row[figure];
}

// Returns the half width of the interval in percent, or n/a if there are too few samples. The percent sign
// keeps scripts from reading it as a column of IMB.
std::string precision(const Row& row, bool labeled) {
  if (!row.passes || !row.passes->half_width) return "n/a";
  return formatted(labeled ? "%g" : "%.2f%%", *row.passes->half_width * 100);
}

// Formats cells as in the reference output of IMB-HALO, with six significant digits, as C++ streams print
// them. A blank precedes each figure except the first. "(xN)": N messages per repetition, all of which Mb/s
// counts.
std::vector<Cell> labeled_cells(const Table& table, const Measurement& measurement, const Row& row,
                                double bytes_per_megabyte) {
  std::vector<Cell> cells{{"", labeled_length_of(table, measurement.bytes)}};
  const auto add = [&](const std::string& number, std::string_view unit) {
    cells.push_back({"", " " + number + "(" + std::string(unit) + ")"});
  };
  for (const Column& column : table.format().columns) {
    add(formatted("%g", text_value(row, column.figure, bytes_per_megabyte)), column.head);
  }
  if (table.multi == Multi::each_group) add(std::to_string(row.group), "group");
  if (table.precision) add(precision(row, true), "+-%");
  if (table.defects) add(std::to_string(row.defects.value_or(0)), "defects");
  return cells;
}

}  // namespace

std::string padded(const std::string& text) {
  constexpr std::size_t width = column_width;
  return std::string(text.size() < width ? width - text.size() : 1, ' ') + text;
}

std::string integer_cell(std::int64_t number) { return padded(std::to_string(number)); }

std::string decimal_cell(double number) { return padded(formatted("%.2f", number)); }

std::string labeled_length_of(const Table& table, std::int64_t bytes) {
  const Spec& spec = table.spec;
  const double messages = spec.sent * spec.participating_processes(table.grouping.processes);
  return formatted("%lld(x%lld)(bytes)", static_cast<long long>(bytes), std::llround(messages));
}

std::vector<Cell> cells_of(const Table& table, const Measurement& measurement, const Row& row,
                           double bytes_per_megabyte) {
  if (table.format().labeled) return labeled_cells(table, measurement, row, bytes_per_megabyte);
  std::vector<Cell> cells;
  if (table.multi == Multi::each_group) cells.push_back({"Group", integer_cell(row.group)});
  if (table.has_lengths()) cells.push_back({"#bytes", integer_cell(measurement.bytes)});
  cells.push_back({"#repetitions", integer_cell(measurement.repetitions)});
  for (const Column& column : table.format().columns) {
    const double number = text_value(row, column.figure, bytes_per_megabyte);
    const bool rounded = info_of(column.figure).unit == Unit::messages_per_second;
    if (info_of(column.figure).presence == FigureInfo::where_valid && !row.has(column.figure)) {
      cells.push_back({column.head, padded("n/a")});
      continue;
    }
    cells.push_back({column.head, rounded ? padded(formatted("%.0f", number)) : decimal_cell(number)});
  }
  if (table.precision) cells.push_back({"+-[%]", padded(precision(row, false))});
  // A floating-point number, as in the guide's description of -DCHECK.
  if (table.defects) cells.push_back({"defects", decimal_cell(static_cast<double>(row.defects.value_or(0)))});
  return cells;
}

}  // namespace openimb
