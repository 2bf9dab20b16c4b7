// printf into a string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/attributes.h"

namespace openimb {

OPENIMB_PRINTF(1, 2) std::string formatted(const char* format, ...);

/// Shortest text that reads back as the same number; "1000000", not "1e+06", for whole numbers of up to 15
/// digits.
std::string shortest(double number);

/// "1 row", "2 rows", "2 processes".
std::string counted(std::int64_t count, std::string_view noun);

/// Comments on a table, or nothing. A blank line ends a table: readers of IMB's output take all lines before
/// it for rows.
inline std::string put_after_blank_line(const std::string& lines) {
  return lines.empty() ? "" : "\n" + lines;
}

/// The number rounded to so many significant digits: samples are not more precise, and their lines stay
/// short.
double significant(double number, int digits = 6);

}  // namespace openimb
