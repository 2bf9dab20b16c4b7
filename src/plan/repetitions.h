// The number of repetitions of a point. Source: guide, "Actual Benchmarking", "-iter", "-iter_policy",
// "-time".
#pragma once

#include <cstdint>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// Returns the policy for one benchmark. `auto` stands for multiple_np in rooted collectives and for dynamic
/// in all other benchmarks.
IterationPolicy effective_policy(IterationPolicy policy, const Spec& spec);

/// Returns the upper limit of repetitions in a table: MSGS_NONAGGR if every repetition ends in a collective
/// completion (files and fences), otherwise MSGSPERSAMPLE. Source: guide, "Actual Benchmarking"; IMB-RMA uses
/// MSGSPERSAMPLE in both modes.
std::int64_t max_repetitions(const Settings& settings, const Spec& spec, Transfers transfers);

/// Returns the number of repetitions planned before their time is known: `most` for length 0 or with policy
/// `off`, otherwise max(1, min(most, OVERALL_VOL / bytes)). multiple_np makes the number a multiple of
/// `processes`, at least `processes`.
std::int64_t planned_repetitions(const Settings& settings, std::int64_t most, IterationPolicy policy,
                                 std::int64_t bytes, int processes);

/// Returns the number of disjoint sections of the buffers: one for each transfer of an aggregate sample, as
/// far as OVERALL_VOL allows, and 1 in other modes. Source: guide, "MPI-2 Benchmark Modes", "Memory and Disk
/// Space Requirements".
std::int64_t disjoint_sections(const Settings& settings, Transfers transfers, std::int64_t planned,
                               std::int64_t bytes);

/// Returns how many of the `planned` repetitions fit into SECS_PER_SAMPLE; with multiple_np a multiple of
/// `processes`, at least `processes`. 0 means that not even one repetition fits, so the row is a time-out.
/// With policy `off`, or a limit of 0 or less, all planned repetitions run.
std::int64_t repetitions_in_time(const Settings& settings, IterationPolicy policy, std::int64_t planned,
                                 double seconds_per_repetition, int processes);

/// Returns the number of untimed repetitions with the point's message length: a tenth of `planned`, at least
/// one, at most N_WARMUP.
std::int64_t warm_up_repetitions(const Settings& settings, std::int64_t planned);

/// Returns the number of repetitions of the second, longer trial that estimates the time of one repetition.
/// The trial takes a tenth of -time, at most about one second.
std::int64_t estimate_repetitions(const Settings& settings, std::int64_t planned,
                                  double seconds_per_repetition);

}  // namespace openimb
