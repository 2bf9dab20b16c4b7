#include "cli/parameters.h"

#include <vector>

#include "cli/command_line.h"
#include "cli/suggestion.h"
#include "cli/values.h"

namespace openimb {

namespace {

constexpr double most_seconds = 1e9;

template <auto member, std::int64_t lowest, std::int64_t highest>
void set_whole(Settings& settings, std::string_view value) {
  using Number = std::remove_reference_t<decltype(settings.*member)>;
  settings.*member = static_cast<Number>(whole_number(value, lowest, highest));
}

template <auto member>
void set_seconds(Settings& settings, std::string_view value) {
  settings.*member = real_number(value, 0, most_seconds);
}

template <auto member, std::int64_t lowest>
void set_bytes(Settings& settings, std::string_view value) {
  settings.*member = byte_count(value, 1, lowest, largest_length);
}

template <auto member>
std::string show_whole(const Settings& settings) {
  return std::to_string(settings.*member);
}

template <auto member>
std::string show_real(const Settings& settings) {
  return to_text(settings.*member);
}

constexpr Parameter table[] = {
    {"MINMSGLOG", "exponent of the smallest length above 0 (-msglog)",
     set_whole<&Settings::min_message_log, 0, largest_exponent>, show_whole<&Settings::min_message_log>},
    {"MAXMSGLOG", "exponent of the largest length (-msglog)",
     set_whole<&Settings::max_message_log, 0, largest_exponent>, show_whole<&Settings::max_message_log>},
    {"ITER_POLICY", "how repetitions are reduced (-iter_policy)",
     [](Settings& settings, std::string_view value) { settings.policy = iteration_policy(value); },
     [](const Settings& settings) { return std::string(name_of(settings.policy)); }},
    {"MSGSPERSAMPLE", "maximum repetitions per length (-iter)",
     set_whole<&Settings::repetitions, 1, most_int>, show_whole<&Settings::repetitions>},
    {"MSGS_NONAGGR", "the same for non-aggregate benchmarks (-iter)",
     set_whole<&Settings::non_aggregate_repetitions, 1, most_int>,
     show_whole<&Settings::non_aggregate_repetitions>},
    {"OVERALL_VOL", "maximum bytes moved per length, which limits repetitions (-iter)",
     set_bytes<&Settings::overall_volume, 1>, show_whole<&Settings::overall_volume>},
    {"SECS_PER_SAMPLE", "maximum seconds per length, 0: no limit (-time)",
     set_seconds<&Settings::seconds_per_sample>, show_real<&Settings::seconds_per_sample>},
    {"N_BARR", "barriers before a sample", set_whole<&Settings::barriers, 0, 1000000>,
     show_whole<&Settings::barriers>},
    {"N_WARMUP", "maximum untimed repetitions before a sample",
     set_whole<&Settings::warm_up_repetitions, 0, most_int>, show_whole<&Settings::warm_up_repetitions>},
    {"TARGET_CPU_SECS", "seconds of computation during nonblocking calls",
     set_seconds<&Settings::target_cpu_seconds>, show_real<&Settings::target_cpu_seconds>},
    {"MAX_MEM_USAGE", "maximum bytes of message buffers per process (-mem)",
     set_bytes<&Settings::max_memory, 1>, show_whole<&Settings::max_memory>},
    {"CACHE_SIZE", "bytes of cache for -off_cache -1, 0: value of the machine",
     [](Settings& settings, std::string_view value) {
       settings.cache_size = byte_count(value, 1, 0, largest_cache);
     },
     show_whole<&Settings::cache_size>},
    {"CACHE_LINE_SIZE", "bytes of a cache line for -off_cache, 0: value of the machine",
     set_whole<&Settings::cache_line, 0, largest_cache_line>, show_whole<&Settings::cache_line>},
};

}  // namespace

std::span<const Parameter> parameters() { return table; }

void set_parameter(Settings& settings, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) throw BadValue(quoted(assignment) + " is not NAME=VALUE");
  const std::string_view name = trimmed(assignment.substr(0, equals));
  const std::string_view value = trimmed(assignment.substr(equals + 1));
  std::vector<std::string_view> names;
  for (const Parameter& parameter : table) {
    names.push_back(parameter.name);
    if (!same_name(parameter.name, name)) continue;
    try {
      return parameter.set(settings, value);
    } catch (const BadValue& problem) {
      throw BadValue(std::string(parameter.name) + ": " + problem.what());
    }
  }
  const std::string_view meant = nearest(name, names);
  throw BadValue(
      "unknown parameter " + quoted(name) +
      (meant.empty() ? ": -help set shows the names" : ": did you mean " + std::string(meant) + "?"));
}

IterationPolicy iteration_policy(std::string_view word) {
  constexpr IterationPolicy policies[] = {IterationPolicy::dynamic, IterationPolicy::multiple_np,
                                          IterationPolicy::automatic, IterationPolicy::off};
  // The guide's table spells the values of ITER_POLICY as C names.
  if (same_name(word.substr(0, 6), "imode_")) word.remove_prefix(6);
  const auto name = [](IterationPolicy policy) { return name_of(policy); };
  return choice(policies, name, word);
}

std::vector<std::string> settings_that_differ(const Options& options) {
  std::vector<std::string> differences;
  for (const Parameter& parameter : table) {
    const std::string value = parameter.show(options.settings);
    if (value != parameter.show(options.standard.settings))
      differences.push_back(std::string(parameter.name) + "=" + value);
  }
  return differences;
}

}  // namespace openimb
