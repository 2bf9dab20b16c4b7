// printf into a string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/attributes.h"

namespace openimb {

OPENIMB_PRINTF(1, 2) std::string formatted(const char* format, ...);

/// Returns the shortest text that reads back as the same number. Whole numbers of up to 15 digits have no
/// exponent: "1000000", not "1e+06".
std::string shortest(double number);

/// "1 row", "2 rows", "2 processes".
std::string counted(std::int64_t count, std::string_view noun);

/// Puts a blank line before comments on a table. Programs that read IMB's output take all lines before the
/// blank line for rows.
inline std::string put_after_blank_line(const std::string& lines) {
  return lines.empty() ? "" : "\n" + lines;
}

/// Rounds to this number of significant digits. Samples are not more precise, and their records stay short.
double significant(double number, int digits = 6);

}  // namespace openimb
