// One table of the output, and why a row of it could not be measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/grouping.h"
#include "model/names.h"
#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// One table: a benchmark on one grouping of the ranks.
struct Table {
  Spec spec;
  Grouping grouping;
  Multi multi = Multi::off;
  Transfers transfers = Transfers::unmarked;
  bool defects = false;           ///< -check adds the column
  bool tail = false;              ///< -show_tail adds a line under each row
  bool precision = false;         ///< passes add the column of the interval
  bool names_topology = false;    ///< its title shows the topology: -topo was given
  std::string_view variant = {};  ///< label of its variant, in the options; empty: the launch has none

  /// Threads of each process that have messages and a time of their own; 1 for partitioned messages, whose
  /// parts a team of threads marks.
  int timed_threads() const { return spec.partitioned ? 1 : grouping.threads; }
  bool aggregate() const { return transfers == Transfers::aggregate; }
  bool has_lengths() const { return spec.kind != Kind::synchronization; }
  const TableFormat& shown() const {
    const TableFormat* const all = spec.table->all_groups;
    return multi == Multi::summary && all != nullptr ? *all : *spec.table;
  }
};

/// A pair of endpoints in a round of a pass.
struct PairPlace {
  int pass = 1;
  int round = 0;
  EndpointPair pair;
};

/// One point that could not be measured.
struct Failure {
  enum class Cause {
    out_of_memory,
    int_overflow,
    time_out,
    invalid_processes,
    unavailable,
    no_space,  ///< of storage
    io_error,
    over_budget,  ///< the budget of the launch was spent before the first sample
    no_answer,    ///< an endpoint did not answer in time
    clock_set     ///< a clock was set while the row was measured
  };
  Cause cause = Cause::out_of_memory;
  std::int64_t bytes = 0;
  std::int64_t needed_bytes = 0;       ///< for this point; out_of_memory: per process
  std::int64_t free_bytes = 0;         ///< no_space: what there is
  double seconds = 0;                  ///< time_out: what one repetition takes
  std::string detail;                  ///< one line, for the record
  bool counts = true;                  ///< as a failed row: the point was asked for
  bool limit = false;                  ///< beyond a limit that was given, or that the MPI has
  std::optional<PairPlace> pair = {};  ///< of endpoints, where only this pair failed
};
template <>
inline constexpr Names<10> names_of<Failure::Cause> = {
    "out_of_memory", "int_overflow", "time_out",    "invalid_processes", "unavailable",
    "no_space",      "io_error",     "over_budget", "no_answer",         "clock_set"};

}  // namespace openimb
