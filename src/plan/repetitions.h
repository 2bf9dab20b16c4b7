// How many repetitions a point has. Source: guide, "Actual Benchmarking", "-iter", "-iter_policy", "-time".
#pragma once

#include <cstdint>

#include "model/options.h"
#include "model/spec.h"

namespace openimb {

/// The policy in force for one benchmark: `auto` is multiple_np for rooted collectives, dynamic for all
/// others.
IterationPolicy effective_policy(IterationPolicy policy, const Spec& spec);

/// The upper limit of repetitions in a table: MSGSPERSAMPLE, or MSGS_NONAGGR where every repetition ends in a
/// collective completion (guide, "Actual Benchmarking"; RMA: MSGSPERSAMPLE in both modes).
std::int64_t most_repetitions(const Settings& settings, const Spec& spec, Transfers transfers);

/// `most` for length 0 or with policy `off`, else max(1, min(most, OVERALL_VOL / bytes)); multiple_np makes
/// it a multiple of the number of processes, at least one round.
std::int64_t planned_repetitions(const Settings& settings, std::int64_t most, IterationPolicy policy,
                                 std::int64_t bytes, int processes);

/// Number of disjoint sections of the buffers that the transfers of an aggregate sample use: one per
/// transfer, as far as OVERALL_VOL allows. Source: guide, "MPI-2 Benchmark Modes", "Memory and Disk Space
/// Requirements".
std::int64_t disjoint_sections(const Settings& settings, Transfers transfers, std::int64_t planned,
                               std::int64_t bytes);

/// The time limit applied to `planned`: as many repetitions as fit into SECS_PER_SAMPLE (multiple_np: in
/// whole rounds of `processes`, at least one round). 0: not even one repetition fits, the row is a time-out.
/// Policy `off` and a limit of 0 or less change nothing.
std::int64_t repetitions_in_time(const Settings& settings, IterationPolicy policy, std::int64_t planned,
                                 double seconds_per_repetition, int processes);

/// Untimed repetitions at the real length before the clock starts: a tenth of the timed ones, at least one,
/// at most N_WARMUP.
std::int64_t warm_up_repetitions(const Settings& settings, std::int64_t planned);

/// Number of further repetitions that estimate the time of one. The estimate takes a tenth of -time, at most
/// about one second.
std::int64_t estimate_repetitions(const Settings& settings, std::int64_t planned,
                                  double seconds_per_repetition);

}  // namespace openimb
