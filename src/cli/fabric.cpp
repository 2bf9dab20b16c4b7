#include "cli/fabric.h"

#include <algorithm>
#include <string>

#include "cli/option_table.h"

namespace openimb {

namespace {

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void refuse_elsewhere(std::span<const std::string_view> given) {
  for (const Option& option : fabric_options()) {
    if (!is_in(given, option.name)) continue;
    throw UsageError("-" + std::string(option.name) +
                     ": an option of IMB-FABRIC; leave it out, or run IMB-FABRIC");
  }
}

// Whose effect a sweep does not have: ignored, they would mislead.
void refuse_useless(std::span<const std::string_view> given) {
  constexpr std::string_view useless[] = {"multi",    "map",       "npmin",      "show_tail",
                                          "dumpfile", "precision", "turns",      "msg_pause",
                                          "pause",    "sync",      "imb_barrier"};
  for (const std::string_view name : useless) {
    if (!is_in(given, name)) continue;
    throw UsageError(
        "-" + std::string(name) +
        ": IMB-FABRIC measures pairs of endpoints in rounds and has no use for it; leave it out");
  }
}

void refuse_contradictions(const Options& options, std::span<const std::string_view> given) {
  constexpr std::string_view sources[] = {"rounds", "halves", "pairs_file"};
  std::string_view first;
  for (const std::string_view name : sources) {
    if (!is_in(given, name)) continue;
    if (!first.empty()) {
      throw UsageError("-" + std::string(first) + " and -" + std::string(name) +
                       " cannot be combined; give one of them");
    }
    first = name;
  }
  const RoundKind kind = options.fabric->rounds;
  const bool hub = kind == RoundKind::one_to_all || kind == RoundKind::all_to_one;
  if (hub && options.check) {
    throw UsageError("-check: not possible with -rounds " + std::string(name_of(kind)) +
                     ", where messages of several endpoints arrive in one buffer; leave one of them out");
  }
  if (hub && options.fabric->serial) {
    throw UsageError("-serial: not possible with -rounds " + std::string(name_of(kind)) +
                     ", whose pairs communicate at once; leave one of them out");
  }
  const auto grouped = std::ranges::find(options.selection, true, &Selected::multi);
  if (grouped != options.selection.end()) {
    throw UsageError(
        "Multi-: IMB-FABRIC measures pairs of endpoints in rounds; name the benchmark without it");
  }
}

}  // namespace

void settle_fabric(Draft& draft, std::span<const std::string_view> given) {
  Options& options = draft.options;
  if (!options.fabric) return refuse_elsewhere(given);
  refuse_useless(given);
  refuse_contradictions(options, given);
  const Settings& settings = options.settings;
  const Settings& standard = options.standard.settings;
  const bool by_exponents = is_in(given, "msglog") || settings.min_message_log != standard.min_message_log ||
                            settings.max_message_log != standard.max_message_log;
  if (options.lengths.empty() && !by_exponents) options.lengths = {8, 64 << 10, 1 << 20};
}

}  // namespace openimb
