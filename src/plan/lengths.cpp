#include "plan/lengths.h"

#include <algorithm>
#include <optional>

#include "model/saturating.h"

namespace openimb {

namespace {

// `element`: bytes of one element, the unit of -count.
std::vector<std::int64_t> requested_lengths(const Options& options, std::int64_t element) {
  if (!options.lengths.empty()) return options.lengths;
  std::vector<std::int64_t> lengths;
  for (const std::int64_t count : options.counts) lengths.push_back(times(count, element));
  if (!lengths.empty()) return lengths;
  if (options.zero_size) lengths.push_back(0);
  for (int log = options.settings.min_message_log; log <= options.settings.max_message_log; ++log) {
    lengths.push_back(std::int64_t{1} << log);
  }
  return lengths;
}

}  // namespace

std::vector<std::int64_t> message_lengths(const Spec& spec, const Options& options) {
  if (spec.kind == Kind::synchronization) return {0};
  std::int64_t unit = options.element(spec).size();
  const std::int64_t element = unit;
  const int threads = spec.threaded ? options.threads.count : 1;
  if (spec.one_sided.single_element) return {unit};
  if (spec.one_sided.lengths_of_reductions) unit = std::max(unit, options.reduction.size());
  std::vector<std::int64_t> lengths;
  std::optional<std::int64_t> previous;
  for (const std::int64_t asked : requested_lengths(options, element)) {
    const std::int64_t rounded = rounded_up(asked, unit);
    if ((rounded == 0 && !options.zero_size) || rounded == previous) continue;
    lengths.push_back(times(rounded, threads));
    previous = rounded;
  }
  return lengths;
}

LengthRange length_range(const Options& options) {
  const std::vector<std::int64_t> lengths = requested_lengths(options, options.data.size());
  const auto [smallest, largest] = std::ranges::minmax_element(lengths);
  return {*smallest, *largest};
}

}  // namespace openimb
