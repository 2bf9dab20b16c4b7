#include "cli/parameters.h"

#include <vector>

#include "cli/command_line.h"
#include "cli/suggestion.h"
#include "cli/values.h"

namespace openimb {

namespace {

template <auto member>
inline constexpr const Field* setting = at<&Options::settings, member>;

constexpr Range seconds = real(0, 1e9);

constexpr Parameter table[] = {
    {"MINMSGLOG", "exponent of the smallest message size above 0", setting<&Settings::min_message_log>,
     whole(0, max_exponent), "msglog"},
    {"MAXMSGLOG", "exponent of the largest message size", setting<&Settings::max_message_log>,
     whole(0, max_exponent), "msglog"},
    {"ITER_POLICY", "how repetitions are reduced", setting<&Settings::policy>, {}, "iter_policy"},
    {"MSGSPERSAMPLE", "maximum repetitions per message size", setting<&Settings::repetitions>,
     whole(1, max_int), "iter"},
    {"MSGS_NONAGGR", "the same for non-aggregate benchmarks", setting<&Settings::non_aggregate_repetitions>,
     whole(1, max_int), "iter"},
    {"OVERALL_VOL", "maximum bytes moved per message size, which limits repetitions",
     setting<&Settings::overall_volume>, size(1, 1, max_bytes), "iter"},
    {"SECS_PER_SAMPLE", "maximum seconds per message size, 0: no limit",
     setting<&Settings::seconds_per_sample>, seconds, "time"},
    {"N_BARR", "barriers before a sample", setting<&Settings::barriers>, whole(0, 1000000)},
    {"N_WARMUP", "maximum untimed repetitions before a sample", setting<&Settings::warm_up_repetitions>,
     whole(0, max_int), "warmup"},
    {"TARGET_CPU_SECS", "seconds of computation during nonblocking calls",
     setting<&Settings::target_cpu_seconds>, seconds},
    {"MAX_MEM_USAGE", "maximum bytes of message buffers per rank", setting<&Settings::max_memory>,
     size(1, 1, max_bytes), "mem"},
    {"CACHE_SIZE", "bytes of cache for -off_cache -1, 0: value of the machine",
     setting<&Settings::cache_size>, size(1, 0, max_cache)},
    {"CACHE_LINE_SIZE", "bytes of a cache line for -off_cache, 0: value of the machine",
     setting<&Settings::cache_line>, whole(0, max_cache_line)},
};

std::string assignment_of(const Parameter& parameter, const Options& options) {
  return std::string(parameter.name) + "=" + to_text(parameter.field->get(options), parameter.range);
}

}  // namespace

std::span<const Parameter> parameters() { return table; }

void set_parameter(Options& options, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) throw BadValue(quoted(assignment) + " is not NAME=VALUE");
  const std::string_view name = trimmed(assignment.substr(0, equals));
  const std::string_view value = trimmed(assignment.substr(equals + 1));
  std::vector<std::string_view> names;
  for (const Parameter& parameter : table) {
    names.push_back(parameter.name);
    if (!same_name(parameter.name, name)) continue;
    try {
      return parameter.field->set(options, parameter.range, value);
    } catch (const BadValue& error) {
      throw BadValue(std::string(parameter.name) + ": " + error.what());
    }
  }
  const std::string_view suggestion = nearest(name, names);
  throw BadValue("unknown parameter " + quoted(name) +
                 (suggestion.empty() ? ": -help set shows the names"
                                     : ": did you mean " + std::string(suggestion) + "?"));
}

std::vector<std::string> settings_that_differ(const Options& options) {
  const Options defaults = default_options(options.defaults);
  std::vector<std::string> differences;
  for (const Parameter& parameter : table) {
    const std::string in_force = assignment_of(parameter, options);
    if (in_force != assignment_of(parameter, defaults)) differences.push_back(in_force);
  }
  return differences;
}

std::vector<std::string> settings_without_option(const Options& options) {
  std::vector<std::string> settings;
  for (const Parameter& parameter : table) {
    if (parameter.option.empty()) settings.push_back(assignment_of(parameter, options));
  }
  return settings;
}

}  // namespace openimb
