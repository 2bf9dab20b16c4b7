#include "plan/repetitions.h"

#include <algorithm>
#include <cmath>

namespace openimb {

namespace {

constexpr double estimate_seconds = 1.0;  // guide, -time: "~1 second overhead" at its default of 10 s
constexpr double estimate_share = 0.1;    // share of -time if it is shorter than 10 s

std::int64_t multiple_of_processes(std::int64_t repetitions, int processes) {
  return std::max<std::int64_t>(processes, repetitions / processes * processes);
}

std::int64_t repetitions_within(double seconds, double seconds_per_repetition, std::int64_t most) {
  if (seconds_per_repetition <= 0) return most;
  const double count = std::floor(seconds / seconds_per_repetition);
  return count >= static_cast<double>(most) ? most : static_cast<std::int64_t>(count);
}

}  // namespace

IterationPolicy effective_policy(IterationPolicy policy, const Spec& spec) {
  if (policy != IterationPolicy::automatic) return policy;
  return spec.rooted ? IterationPolicy::multiple_np : IterationPolicy::dynamic;
}

std::int64_t max_repetitions(const Settings& settings, const Spec& spec, Transfers transfers) {
  const bool limited = spec.access == Access::active_target || spec.uses_files();
  const bool few = limited && transfers != Transfers::aggregate;
  return few ? settings.non_aggregate_repetitions : settings.repetitions;
}

std::int64_t disjoint_sections(const Settings& settings, Transfers transfers, std::int64_t planned,
                               std::int64_t bytes) {
  if (transfers != Transfers::aggregate || bytes == 0) return 1;
  return std::min(planned, std::max<std::int64_t>(1, settings.overall_volume / bytes));
}

std::int64_t planned_repetitions(const Settings& settings, std::int64_t most, IterationPolicy policy,
                                 std::int64_t bytes, int processes) {
  if (policy == IterationPolicy::off) return most;
  std::int64_t repetitions = most;
  if (bytes > 0) {
    repetitions = std::max<std::int64_t>(1, std::min(repetitions, settings.overall_volume / bytes));
  }
  return policy == IterationPolicy::multiple_np ? multiple_of_processes(repetitions, processes) : repetitions;
}

std::int64_t repetitions_in_time(const Settings& settings, IterationPolicy policy, std::int64_t planned,
                                 double seconds_per_repetition, int processes) {
  if (policy == IterationPolicy::off || settings.seconds_per_sample <= 0) return planned;
  const std::int64_t fitting =
      repetitions_within(settings.seconds_per_sample, seconds_per_repetition, planned);
  if (fitting == 0 || policy != IterationPolicy::multiple_np) return fitting;
  return std::min(planned, multiple_of_processes(fitting, processes));
}

std::int64_t warm_up_repetitions(const Settings& settings, std::int64_t planned) {
  return std::min<std::int64_t>(settings.warm_up_repetitions, std::max<std::int64_t>(1, planned / 10));
}

std::int64_t estimate_repetitions(const Settings& settings, std::int64_t planned,
                                  double seconds_per_repetition) {
  const double budget = std::min(estimate_seconds, estimate_share * settings.seconds_per_sample);
  return std::max<std::int64_t>(1, repetitions_within(budget, seconds_per_repetition, planned));
}

}  // namespace openimb
