// The texts about failures in records, in tables, and in the line on stderr.
#pragma once

#include <cstdint>
#include <string>

#include "model/component.h"
#include "model/table.h"

namespace openimb {

/// Whether the failure concerns one length, not the whole table.
bool is_about_a_length(Failure::Cause cause);

/// Converts to GiB and rounds up to three decimals, so that -mem with this number suffices.
double gigabytes(std::int64_t bytes);

/// "PingPong, 2 processes, 8 B: time out: one repetition ...; give more time with -time, ...".
std::string failure_text(const Table& table, const Failure& failure);

/// Returns the lines for the text tables: a row, or lines in place of a table.
std::string failure_lines(const Table& table, const Failure& failure, OutputStyle style);

}  // namespace openimb
