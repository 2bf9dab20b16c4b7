// One table of the output, and the reason why a row could not be measured.
#pragma once

#include <cstddef>
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
  bool defects = false;           ///< has the column "defects" (-check)
  bool tail = false;              ///< has a line with the tail after each row (-show_tail)
  bool precision = false;         ///< has the column of the confidence interval (passes)
  bool names_topology = false;    ///< has the topology in its title (-topo)
  std::string_view variant = {};  ///< label of its variant, stored in the options; empty: no variants

  /// Threads of each process that have their own messages and times. 1 for partitioned messages: a team of
  /// threads marks the parts of one message.
  int timed_threads() const { return spec.partitioned ? 1 : grouping.threads; }
  bool aggregate() const { return transfers == Transfers::aggregate; }
  bool has_lengths() const { return spec.kind != Kind::synchronization; }
  const TableFormat& format() const {
    const TableFormat* const all = spec.table->all_groups;
    return multi == Multi::summary && all != nullptr ? *all : *spec.table;
  }
};

/// A pair of endpoints, with the pass and the round in which it was measured.
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
    no_space,  ///< in the file system
    io_error,
    over_budget,  ///< the budget of the launch was spent before the first sample
    no_answer,    ///< an endpoint did not answer in time
    clock_set     ///< a clock was set while the row was measured
  };
  Cause cause = Cause::out_of_memory;
  std::int64_t bytes = 0;
  std::int64_t needed_bytes = 0;       ///< what this point needs; out_of_memory: per process
  std::int64_t free_bytes = 0;         ///< no_space: free space
  double seconds = 0;                  ///< time_out: time of one repetition
  std::string detail;                  ///< reason in one line
  bool counts = true;                  ///< counts as a failed row, because the user asked for the point
  bool limit = false;                  ///< beyond a limit of an option or of the MPI
  std::optional<PairPlace> pair = {};  ///< IMB-FABRIC: the pair, if only this one failed
};
template <>
inline constexpr Names<10> names_of<Failure::Cause> = {
    "out_of_memory", "int_overflow", "time_out",    "invalid_processes", "unavailable",
    "no_space",      "io_error",     "over_budget", "no_answer",         "clock_set"};
/// Advice for each cause, as the end of a sentence.
inline constexpr Names<10> cause_advice = {
    "give more memory with -mem, or run smaller messages (-msglog) or fewer ranks",
    "use an MPI with large-count calls (MPI 4.0), or run smaller messages (-msglog) or fewer ranks",
    "give more time with -time, or run smaller messages (-msglog)",
    "launch more ranks",
    "leave the benchmark out, or choose other options or another MPI",
    "choose a folder with more space (-file), or run smaller messages (-msglog) or fewer repetitions (-iter)",
    "check space, quota, limits and permissions of the folder (-file)",
    "give more seconds with -budget, or run fewer rows",
    "check both hosts and the link between them, or give more time with -pair_timeout",
    "measure again while no clock is set"};
constexpr const char* advice_for(Failure::Cause cause) {
  return cause_advice[static_cast<std::size_t>(cause)];
}

}  // namespace openimb
